"""Hidden checks of chapter 19."""

import mxnet as mx
from compare import assert_same, is_close


class Others:
    """Plays the other processes of a job, which bring these numbers; messages
    take a while."""

    rank, size = 1, 3

    def __init__(self, numbers):
        self.numbers, self.exchanges, self.questions = numbers, 0, 0

    def Iallreduce(self, sent, received):
        self.exchanges += 1
        self.sent, self.received = sent, received
        return self

    def Test(self, status=None):
        self.questions += 1
        if self.questions % 3:
            return False
        self.received[...] = self.sent + self.numbers
        return True


def watched_allreduce_processes(rng, answer, solution):
    for k in (1, 2, 3, 4):
        values = rng.randn(k, 3, 2).astype('float32')
        others = rng.randn(3, 2).astype('float32')
        data = [mx.np.array(v, ctx=mx.cpu(i)) for i, v in enumerate(values)]
        held, comm = list(data), Others(others)
        answer(data, comm)
        assert comm.exchanges == 1, 'hidden check: exchange once'
        for array in held:
            assert is_close(array, values.sum(axis=0) + others), (
                f'hidden check: {k} devices do not have the sum'
            )


def hidden_sum_in_rank_order(rng, answer, solution):
    for k in (1, 3, 9, 40):
        numbers = rng.randn(k) * 10.0 ** rng.randint(-3, 8, k)
        arrivals = [(rank, float(x)) for rank, x in enumerate(numbers)]
        rng.shuffle(arrivals)
        arrivals = [(int(rank), float(x)) for rank, x in arrivals]
        found, wanted = answer(list(arrivals)), solution(list(arrivals))
        assert found == wanted, f'hidden check: {arrivals}: not {found!r}'


def hidden_step_seconds(rng, answer, solution):
    for _ in range(6):
        m, n = (int(number) for number in rng.randint(1, 30, 2))
        assert_same(
            answer,
            solution,
            m + 1,
            n,
            rng.uniform(1e6, 1e10),
            rng.uniform(1e-10, 1e-8),
        )
