"""The tracked query for listeners that extensions modify: what is served until they have answered.

A listener about which not all extensions have answered, or whose answer is refused, stays as it was
when they last had. One without a last good state is not opened, or is opened unmodified if all
extensions have `failOpen`.
"""

from contour.envoy import policy, routing, translating
from contour.envoy.hooks import chain, passed, questions, templates
from contour.envoy.hooks.questions import GoodListener, ShapedListener, TemplateKey, Told
from dag import listeners, nodes
from dag.configuration import settings
from dag.engine.view import View


@questions.shaped_listener.answer
def shaped_listener(view: View, key: TemplateKey) -> ShapedListener | None:
    """A listener as extensions want it."""
    node = view.ask(listeners.listener, nodes.ListenerKey(key.fleet, key.listener))
    if node is None or node.protocol not in {"HTTP", "HTTPS"}:
        return None
    plain = view.ask(policy.downstream, ())
    used = routing.clusters_of(view, key.fleet, plain.services())
    names = {it: name.name for it, name in used.items()}
    template = templates.template(node, plain._replace(names=names), is_quic=key.is_quic)
    servers = view.ask(settings.hook_servers, ())
    last = _last(view, key, node, plain)
    calls = chain.HookCalls(servers, lambda it: view.read(questions.REPLIES, it.key))
    end = calls.listener(template)
    checked = templates.Checked(end.body)
    known = translating.Known(view, key.fleet, templates.clusters(template))
    if end.body is not None and end.is_changed:
        allowed = templates.Allowed(known, plain.sharded)
        checked = templates.checked(template, end.body, allowed)
    every = ", ".join(sorted({it.server for it in calls.asked}))
    told = (*calls.told, *(Told(every, it) for it in checked.refused))
    origins = (*node.origins, *passed.authors(view))
    answer = checked.body if end.is_changed else None
    found = GoodListener(node, plain._replace(answer=answer), tuple(sorted(known.added)))
    silent = translating.lacking(view, key.fleet, names.values(), known, calls.answered)
    whole = ShapedListener(found, tuple(calls.asked), tuple(calls.answered), told, origins=origins)
    whole = whole._replace(refused=whole.answered if checked.refused else ())
    if end.is_whole and checked.body is not None and silent is None:
        return whole
    told = told if silent is None else (*calls.told, *silent)
    waiting = whole._replace(served=None, told=told, is_finished=False)
    if last is not None:
        return waiting._replace(served=last, until_then="last")
    if silent is not None:
        return waiting
    is_open = checked.body is not None or all(it.fail_open for it in servers)
    return waiting._replace(served=found if is_open else None)


def _last(
    view: View, key: TemplateKey, node: nodes.Listener, plain: policy.Downstream
) -> GoodListener | None:
    """What was served last, if it is still usable: an earlier process may have had another routing
    mode."""
    found = view.read(questions.GOOD_LISTENERS, key)
    if found is None or found.policy.sharded != plain.sharded:
        return None
    return found if found.node.protocol == node.protocol else None


PUBLISHED = (questions.shaped_listener,)
"""For the asker of extensions; Envoy gets what is made of it."""
