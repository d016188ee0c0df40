"""What an EnvoyProxy may not say is told with the path of the field, and no pod leaves the
restricted level."""

import pytest

from tests.dag.envoyproxy.proxies import deployment, kubernetes, refusals

K = "spec.provider.kubernetes"
POD = f"{K}.envoyDeployment.pod"
CONTAINER = f"{K}.envoyDeployment.container"


def context(text: str) -> str:
    return deployment(f"container: {{securityContext: {{{text}}}}}")


def of_pods(text: str) -> str:
    return deployment(f"pod: {{securityContext: {{{text}}}}}")


def volume(text: str) -> str:
    return deployment(f"pod: {{volumes: [{{name: v, {text}}}]}}")


def mount(path: str, name: str = "v") -> str:
    volumes = "pod: {volumes: [{name: v, emptyDir: {}}]}"
    return deployment(
        f"{volumes}, container: {{volumeMounts: [{{name: {name}, mountPath: {path}}}]}}"
    )


@pytest.mark.parametrize(
    ("spec", "path"),
    [
        ("provider: {type: Host}", "spec.provider.type"),
        ("provider: {type: Kubernetes, host: {}}", "spec.provider.host"),
        ("provider: {kubernetes: {}}", "spec.provider.type"),
        ("provider: {type: Docker}", "spec.provider.type"),
        ("bootstrap: {}", "spec.bootstrap"),
        ("bootstrap: 7", "spec.bootstrap"),
        ("bootstrap: {type: Odd, value: x}", "spec.bootstrap.type"),
        (kubernetes("envoyDeployment: {}, envoyDaemonSet: {}"), f"{K}.envoyDaemonSet"),
        (kubernetes("envoyDaemonSet: {}, envoyHpa: {maxReplicas: 2}"), f"{K}.envoyHpa"),
        (kubernetes("envoyDaemonSet: {}, envoyPDB: {minAvailable: 2}"), f"{K}.envoyPDB"),
        (kubernetes("envoyHpa: {minReplicas: 3, maxReplicas: 2}"), f"{K}.envoyHpa.maxReplicas"),
        (kubernetes("envoyHpa: {minReplicas: 0, maxReplicas: 2}"), f"{K}.envoyHpa.minReplicas"),
        (kubernetes("envoyHpa: {}"), f"{K}.envoyHpa.maxReplicas"),
        (kubernetes("envoyPDB: {}"), f"{K}.envoyPDB"),
        (kubernetes("envoyPDB: {minAvailable: 1, maxUnavailable: 1}"), f"{K}.envoyPDB"),
        (kubernetes("envoyPDB: {minAvailable: many}"), f"{K}.envoyPDB.minAvailable"),
        (kubernetes("envoyPDB: {minAvailable: -1}"), f"{K}.envoyPDB.minAvailable"),
        (kubernetes("envoyService: {type: ExternalName}"), f"{K}.envoyService.type"),
        (
            kubernetes("envoyService: {loadBalancerIP: one}"),
            f"{K}.envoyService.loadBalancerIP",
        ),
        (
            kubernetes("envoyService: {type: NodePort, loadBalancerIP: 192.0.2.1}"),
            f"{K}.envoyService.loadBalancerIP",
        ),
        *(
            (
                kubernetes(f"envoyService: {{loadBalancerSourceRanges: ['{it}']}}"),
                f"{K}.envoyService.loadBalancerSourceRanges[0]",
            )
            for it in ("192.0.2.1/8", "192.0.2.1", "10.0.0.0/255.0.0.0", "fe80::%1/64")
        ),
        (kubernetes("envoyService: {labels: {app: x}}"), f"{K}.envoyService.labels[app]"),
        (
            kubernetes("envoyService: {}") + ", networkPublishing: {type: ClusterIPService}",
            "spec.networkPublishing",
        ),
        ("networkPublishing: {type: ClusterIPService, nodePorts: [{name: http}]}",
         "spec.networkPublishing.nodePorts"),
        ("networkPublishing: {type: ClusterIPService, gateway: {gatewayClassName: x}}",
         "spec.networkPublishing.gateway"),
        (deployment("replicas: -1"), f"{K}.envoyDeployment.replicas"),
        (
            deployment("strategy: {type: Recreate, rollingUpdate: {maxSurge: 1}}"),
            f"{K}.envoyDeployment.strategy.rollingUpdate",
        ),
        (
            deployment("strategy: {rollingUpdate: {maxSurge: 120%}}"),
            f"{K}.envoyDeployment.strategy.rollingUpdate.maxSurge",
        ),
        (deployment("container: {image: a b}"), f"{CONTAINER}.image"),
        (
            deployment("container: {image: a, imageRepository: b}"),
            f"{CONTAINER}.imageRepository",
        ),
        *(
            (deployment(f"container: {{imageRepository: '{it}'}}"), f"{CONTAINER}.imageRepository")
            for it in ("a/b:v1", "b:v1", "r.example.com:5000/b:v1", "b@sha256:0a")
        ),
        (
            deployment("pod: {labels: {gateway.networking.k8s.io/gateway-name: x}}"),
            f"{POD}.labels[gateway.networking.k8s.io/gateway-name]",
        ),
        ("logging: {level: {upstraem: debug}}", "spec.logging.level[upstraem]"),
        ("logging: {level: {upstream: loud}}", "spec.logging.level.upstream"),
        # Beyond the restricted level.
        (context("privileged: true"), f"{CONTAINER}.securityContext.privileged"),
        (
            context("allowPrivilegeEscalation: true"),
            f"{CONTAINER}.securityContext.allowPrivilegeEscalation",
        ),
        (context("runAsNonRoot: false"), f"{CONTAINER}.securityContext.runAsNonRoot"),
        (context("runAsUser: 0"), f"{CONTAINER}.securityContext.runAsUser"),
        (
            context("capabilities: {add: [SYS_ADMIN]}"),
            f"{CONTAINER}.securityContext.capabilities.add[0]",
        ),
        (
            context("capabilities: {drop: [NET_RAW]}"),
            f"{CONTAINER}.securityContext.capabilities.drop",
        ),
        (
            context("seccompProfile: {type: Unconfined}"),
            f"{CONTAINER}.securityContext.seccompProfile.type",
        ),
        (
            context("appArmorProfile: {type: Unconfined}"),
            f"{CONTAINER}.securityContext.appArmorProfile.type",
        ),
        (context("procMount: Unmasked"), f"{CONTAINER}.securityContext.procMount"),
        (
            context("seLinuxOptions: {type: spc_t}"),
            f"{CONTAINER}.securityContext.seLinuxOptions.type",
        ),
        (
            context("seLinuxOptions: {user: root}"),
            f"{CONTAINER}.securityContext.seLinuxOptions.user",
        ),
        (context("invented: true"), f"{CONTAINER}.securityContext.invented"),
        (
            of_pods("windowsOptions: {hostProcess: true}"),
            f"{POD}.securityContext.windowsOptions",
        ),
        (of_pods("runAsUser: 0"), f"{POD}.securityContext.runAsUser"),
        (
            of_pods("sysctls: [{name: kernel.msgmax, value: '1'}]"),
            f"{POD}.securityContext.sysctls[0].name",
        ),
        (volume("hostPath: {path: /}"), f"{POD}.volumes[0].hostPath"),
        (volume("nfs: {server: a, path: /}"), f"{POD}.volumes[0].nfs"),
        (volume("emptyDir: {}, hostPath: {path: /}"), f"{POD}.volumes[0].hostPath"),
        (
            deployment("pod: {volumes: [{name: certificates, emptyDir: {}}]}"),
            f"{POD}.volumes[0].name",
        ),
        (mount("/certs"), f"{CONTAINER}.volumeMounts[0].mountPath"),
        (mount("/config/../certs/x"), f"{CONTAINER}.volumeMounts[0].mountPath"),
        (mount("/x/../certs"), f"{CONTAINER}.volumeMounts[0].mountPath"),
        (mount("/admin//sub"), f"{CONTAINER}.volumeMounts[0].mountPath"),
        (mount("/"), f"{CONTAINER}.volumeMounts[0].mountPath"),
        (mount("/v", "certificates"), f"{CONTAINER}.volumeMounts[0].name"),
        (
            deployment(
                "pod: {annotations:"
                " {container.apparmor.security.beta.kubernetes.io/envoy: unconfined}}"
            ),
            f"{POD}.annotations[container.apparmor.security.beta.kubernetes.io/envoy]",
        ),
    ],
)  # fmt: skip
def test_it_is_refused_with_its_path(spec: str, path: str) -> None:
    (message, *_) = refusals(spec)
    assert message.startswith(f"{path}: ")


@pytest.mark.parametrize(
    "spec",
    [
        mount("/config2"),
        mount("/var/lib/certs"),
        context("privileged: false, readOnlyRootFilesystem: false, procMount: Default"),
        context("seccompProfile: {type: Localhost, localhostProfile: p}"),
        of_pods("runAsUser: 1000, fsGroup: 1000, sysctls: [{name: net.ipv4.tcp_wmem, value: '1'}]"),
        volume("csi: {driver: x}"),
    ],
)
def test_what_stays_within_the_level_is_taken(spec: str) -> None:
    assert refusals(spec) == []
