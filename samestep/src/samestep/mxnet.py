"""`same_step` for MXNet: functions that train a Gluon network, on one context
or on several.
"""

from typing import Any, Callable, Optional, Sequence

from . import Taken
from . import same_step as compare
from .comparison import Comparison
from .measure import check_that_it_moves
from .trees import Batch, called, map_arrays


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
    others = {*kind.arrays} - {*kind.trained}  # such as running means
    moves = []  # whether what is trained does: running means always do

    def learn(arrays, new):
        moves.append(any((new[n] != arrays[n]).any() for n in kind.trained))

    def taken(function):
        def run(arrays, *batch):
            found, gradients = kind.call(function, arrays, batch)
            if gradients is None:
                if function is reference:
                    learn(arrays, found[0])
            elif len(gradients[0]) != len(kind.trained):
                raise ValueError(
                    f'{called(function)} returns {len(gradients[0])} '
                    f'gradients of {len(kind.trained)} parameters: return '
                    f'those of {kind.trained}'
                )
            else:
                found = [
                    Taken({**own, **dict(zip(kind.trained, given))}, own)
                    for own, given in zip(found, gradients)
                ]
            return found if len(found) > 1 else found[0]

        return run

    def updated(arrays, gradients):
        given = [gradients[name] for name in kind.trained]
        new = kind.call(update, arrays, [given])[0][0]
        learn(arrays, new)
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
    return comparison.change(
        lambda d: d._replace(of='') if d.name in others else d
    )


class Gluon:
    """Calls functions of a network that they build."""

    def __init__(self, build, batches):
        self.build, net = build, build()
        if any(param._data is None for param in params_of(net)):
            net.initialize()
            for batch in batches[:1]:
                rows = Batch(batch).cast('float32').parts()
                net(map_arrays(to_mxnet, rows[0]))  # finds open shapes
        prefix = getattr(net, 'prefix', '')
        params = {
            name.replace(prefix, '', 1): param
            for name, param in net.collect_params().items()
        }
        self.arrays = {
            name: param.data(param.list_ctx()[0]).asnumpy()
            for name, param in params.items()
        }
        self.trained = [n for n, p in params.items() if p.grad_req != 'null']

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

        result = function(build, *map_arrays(to_mxnet, batch))
        if len(built) != 1:
            raise ValueError(
                f'{called(function)} has called build() {len(built)} times: '
                'it must call it once, and train what it returns'
            )
        params = params_of(built[0])
        data = [param.list_data() for param in params]
        replicas = [dict(zip(arrays, own)) for own in replicas_of(data)]
        return replicas, None if result is None else replicas_of(result)


def params_of(net):
    """Return the parameters of a network in a list."""
    return [*net.collect_params().values()]


def to_mxnet(part):
    """Return an array as one of MXNet."""
    import mxnet as mx

    array = mx.np.array if mx.util.is_np_array() else mx.nd.array
    return array(part, dtype=part.dtype)


def replicas_of(lists):
    """Return the arrays of each context; `lists` has, for each parameter, one
    array or a list of them."""
    lists = [own if isinstance(own, list) else [own] for own in lists]
    return [[array.asnumpy() for array in own] for own in zip(*lists)]
