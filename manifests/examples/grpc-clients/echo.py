"""A gRPC server, and a client that is told by xDS where to call. Needs grpcio.

echo.py serve NAME PORT    answers every call with its name
echo.py call TARGET...     calls each target five times a second, and prints one line a second
"""

import sys
import time
from collections import Counter
from concurrent import futures

import grpc


def serve(name: str, port: str) -> None:
    def say(request: bytes, context: grpc.ServicerContext) -> bytes:
        return name.encode()

    server = grpc.server(futures.ThreadPoolExecutor(4))
    methods = {"Say": grpc.unary_unary_rpc_method_handler(say)}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("echo.Echo", methods),))
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def call(*targets: str) -> None:
    calls = {it: grpc.insecure_channel(it).unary_unary("/echo.Echo/Say") for it in targets}
    while True:
        answers: Counter[str] = Counter()
        for _ in range(5):
            for target, say in calls.items():
                try:
                    answers[f"{target} -> {say(b'', timeout=10).decode()}"] += 1
                except grpc.RpcError as error:
                    answers[f"{target} failed: {error.code().name}"] += 1
            time.sleep(0.2)
        print(", ".join(f"{answer} ({count})" for answer, count in answers.items()), flush=True)


if __name__ == "__main__":
    {"serve": serve, "call": call}[sys.argv[1]](*sys.argv[2:])
