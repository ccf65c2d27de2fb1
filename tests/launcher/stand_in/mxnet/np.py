"""Arrays of one dimension."""


class Array(list):
    def tolist(self):
        return list(self)


def zeros(n):
    return Array([0.0] * n)


def ones(n):
    return Array([1.0] * n)
