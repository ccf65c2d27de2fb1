"""What the adapters of TensorFlow and MXNet share: functions that build their
network and train it, as functions of named arrays.
"""

from . import Taken
from . import same_step as compare
from .measure import check_that_it_moves
from .trees import called


def compare_networks(kind, step, reference, batches, low, update, how):
    """Return the Comparison. `kind` knows the framework: the network's
    `arrays`, which of their `names` are `trained`, and how to `call` a
    function with a network that has these arrays."""
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


def the_one(built, function):
    """Return the network that a function has built. Raises ValueError unless
    it is one."""
    if len(built) != 1:
        raise ValueError(
            f'{called(function)} has called build() {len(built)} times: it '
            'must call it once, and train what it returns'
        )
    return built[0]
