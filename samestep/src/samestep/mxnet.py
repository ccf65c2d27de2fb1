"""`same_step` for MXNet: functions that train a Gluon network, on one context
or on several.
"""

from typing import Any, Callable, Optional, Sequence

from . import Taken
from . import same_step as compare
from .comparison import Comparison
from .measure import check_that_it_moves
from .trees import Batch, called


def same_step(
    step: Callable,
    reference: Callable,
    build: Callable,
    batches: Sequence,
    low: Optional[Callable] = None,
    update: Optional[Callable] = None,
    **how: Any,
) -> Comparison:
    """Return a Comparison of two functions of (build, X, y).

    `build` makes your Gluon network. What the functions get in its place is a
    function of a context, or of a list of them: it does so, too, and puts the
    parameters of this call there. They call it once, make their Trainer, and
    train the network on one minibatch of MXNet's arrays. So nothing that a
    Trainer keeps goes from one minibatch to the next. The first parameters
    are those with which `build` initializes the network, or MXNet's own.

    With `update`, a function of (build, gradients) that takes the Trainer's
    step with them, `reference` returns the gradients, in the order of
    `collect_params()` without those of `grad_req='null'`, and `step` does,
    too, if it has them: each an array, or a list of one for each context. A
    Trainer wants gradients of `backward`: those of the sum of all
    `(param.data() * gradient).sum()` are the given ones. The other arguments
    are those of `samestep.same_step`, whose Comparison it returns, and so are
    the errors.

    A step of RMSProp, AdaGrad, AdaDelta or Ftrl cannot be judged: MXNet 1.9
    keeps their state in float32, and raises MXNetError for a network in
    float64. Judge gradients alone: with `gradients=True`, and functions that
    return them and take no step.
    """
    kind = Gluon(build, batches)
    return compare_networks(kind, step, reference, batches, low, update, how)


def compare_networks(kind, step, reference, batches, low, update, how):
    """Return the Comparison of functions that build a network and train it,
    as functions of named arrays."""
    moves = []  # whether what is trained does: running means always do

    def learn(arrays, new):
        moves.append(any((new[n] != arrays[n]).any() for n in kind.trained))

    def taken(function):
        def run(arrays, *batch):
            replicas, gradients = kind.call(function, arrays, batch)
            if gradients is None:
                if function is reference:
                    learn(arrays, replicas[0])
                return replicas
            if len(gradients[0]) != len(kind.trained):
                raise ValueError(
                    f'{called(function)} returns {len(gradients[0])} '
                    f'gradients of {len(kind.trained)} parameters: return '
                    f'those of {kind.trained}'
                )
            found = [
                Taken({**own, **dict(zip(kind.trained, given))}, own)
                for own, given in zip(replicas, gradients)
            ]
            return found if len(found) > 1 else found[0]

        return run

    def updated(arrays, gradients):
        given = [gradients[name] for name in kind.trained]
        new = kind.call(update, arrays, [given])[0][0]
        learn(arrays, new)
        others = {*new} - {*kind.trained}  # such as running means
        return {**new, **{name: gradients[name] for name in others}}

    comparison = compare(
        taken(step),
        taken(reference),
        kind.arrays,
        batches,
        low=low and taken(low),
        update=update and updated,
        **how,
    )
    if not how.get('gradients'):
        check_that_it_moves(any(moves) or not moves)
    others = {*kind.arrays} - {*kind.trained}
    return comparison.change(
        lambda d: d._replace(of='') if d.name in others else d
    )


class Gluon:
    """Calls functions of a network that they build."""

    def __init__(self, build, batches):
        self.build, net = build, build()
        params = params_of(net)
        if any(param._data is None for param in params):
            net.initialize()
            for batch in batches[:1]:
                rows = Batch(batch).cast('float32').parts()
                net(to_mxnet(rows[0]))  # finds the shapes that are open
        prefix = getattr(net, 'prefix', '')
        names = [name.replace(prefix, '', 1) for name in net.collect_params()]
        self.arrays = {
            name: param.data(param.list_ctx()[0]).asnumpy()
            for name, param in zip(names, params)
        }
        self.trained = [
            name
            for name, param in zip(names, params)
            if param.grad_req != 'null'
        ]

    def call(self, function, arrays, batch):
        """Return the parameters of each replica after the function has
        trained a network of these arrays; and the gradients, or None."""
        import mxnet as mx

        built = []

        def build(ctx=None):
            net = self.build()
            pairs = [*zip(params_of(net), arrays.values())]
            for param, array in pairs:
                param.shape = array.shape
            net.cast(pairs[0][1].dtype)
            net.initialize(mx.init.Zero(), ctx=ctx, force_reinit=True)
            for param, array in pairs:
                param.set_data(to_mxnet(array.astype(param.dtype)))
            built.append(net)
            return net

        result = function(build, *map(to_mxnet, batch))
        params = params_of(the_one(built, function))
        data = [param.list_data() for param in params]
        replicas = [dict(zip(arrays, own)) for own in replicas_of(data)]
        return replicas, None if result is None else replicas_of(result)


def params_of(net):
    """Return the parameters of a network in a list."""
    return [*net.collect_params().values()]


def to_mxnet(part):
    """Return arrays, or those in dicts and lists, as arrays of MXNet."""
    import mxnet as mx

    if isinstance(part, dict):
        return {key: to_mxnet(value) for key, value in part.items()}
    if isinstance(part, (list, tuple)):
        return [to_mxnet(value) for value in part]
    array = mx.np.array if mx.util.is_np_array() else mx.nd.array
    return array(part, dtype=part.dtype)


def replicas_of(lists):
    """Return the arrays of each context; `lists` has, for each parameter, one
    array or a list of them."""
    lists = [own if isinstance(own, list) else [own] for own in lists]
    return [[array.asnumpy() for array in own] for own in zip(*lists)]


def the_one(built, function):
    """Return the network that a function has built. Raises ValueError unless
    it is one."""
    if len(built) != 1:
        raise ValueError(
            f'{called(function)} has called build() {len(built)} times: it '
            'must call it once, and train what it returns'
        )
    return built[0]
