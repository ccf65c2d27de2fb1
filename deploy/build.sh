#!/bin/sh
# Build an image with buildah, run the book inside, and say how large it is.
#
#     sh deploy/build.sh           the CPU image, d2lmulti
#     sh deploy/build.sh gpu       the GPU image, d2lmulti:gpu
#     BASE=debian:bookworm-slim    on another base, Python 3.8 to 3.14 in it
#     ROOTFS=DIR                   on a folder such as debootstrap makes, where
#                                  no registry of images can be reached; kept as
#                                  the image d2lmulti-base
#     BUILDAH_OPTIONS='...'        for all that runs, such as --volume
#                                  /etc/pip.conf:/etc/pip.conf:ro where PyPI is
#                                  reached through a mirror; nothing of a volume
#                                  or of the environment gets into the image
#     STORAGE=DIR                  keeps the images there
#     TRAIN='--epochs 2'           options of `make train`
#     TESTS=1                      runs `make test` inside, too
#
# Needs no daemon: only buildah, as root or with user namespaces.
set -eu
cd "$(dirname "$0")/.."
build=${1:-cpu} tag=d2lmulti dockerfile=deploy/Dockerfile
case $build in
    cpu) python=.venv/bin/python ;;
    gpu) tag=d2lmulti:gpu dockerfile=deploy/Dockerfile.gpu
        python=.venv-gpu/bin/python ;;
    *) echo "there is no image $build: cpu or gpu" >&2; exit 1 ;;
esac
isolation=${ISOLATION:-chroot}

# The options are words, and --storage-opt would not survive quoting.
# shellcheck disable=SC2086
b() {
    command=$1
    shift
    case $command in
        bud | run) set -- --isolation="$isolation" ${BUILDAH_OPTIONS:-} "$@" ;;
    esac
    buildah ${STORAGE:+--root "$STORAGE" --runroot "$STORAGE-run"} \
        --storage-driver="${STORAGE_DRIVER:-vfs}" "$command" "$@"
}
step() {
    began=$(date +%s) name=$1
    shift
    echo "== $name"
    "$@"
    echo "== $name: $(($(date +%s) - began)) s"
}
# inside COMMAND: run it in the container with the user's home, as docker does.
inside() { b run --env HOME=/home/student "$container" -- sh -euc "$1"; }

# Made once, or the layers above would be built again.
if [ "${ROOTFS:-}" ] && ! b inspect localhost/d2lmulti-base >/dev/null 2>&1; then
    empty=$(b from scratch)
    b copy --quiet "$empty" "$ROOTFS" / >/dev/null
    b commit --quiet --rm "$empty" d2lmulti-base >/dev/null
fi
[ -z "${ROOTFS:-}" ] || BASE=localhost/d2lmulti-base
step "$dockerfile" b bud ${BASE:+--build-arg "BASE=$BASE"} --layers \
    --tag "$tag" --file "$dockerfile" .

container=$(b from "$tag")
trap 'b rm "$container" >/dev/null' EXIT
if [ "$build" = cpu ]; then
    step 'doctor' inside "$python -m d2ldoctor --quick"
    step 'make train' inside "make train ARGS='${TRAIN:-}'"
else
    # Without a driver MXNet's GPU build does not start, and the doctor must
    # say so; with one, all must be well.
    step 'doctor' inside "$python -m d2ldoctor --quick ||
        [ ! -e /dev/nvidiactl ]"
    [ ! -e /dev/nvidiactl ] || step 'make train' inside 'make train'
fi
chapter=notebooks/04_data.ipynb
if [ "$build" = cpu ] || [ -e /dev/nvidiactl ]; then
    step "$chapter" inside \
        "$python -m pytest -q --nbval --nbval-current-env $chapter"
fi
if [ "${TESTS:-}" ]; then
    step 'make test' inside 'make test'
fi

echo '== sizes, in MB'
root=$(b mount "$container")
du -sxm "$root/home/student/d2lmulti/.venv"* "$root"
b umount "$container" >/dev/null
b inspect --type image --format '{{.OCIv1.Config.User}}: user' "$tag"
