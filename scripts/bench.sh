#!/usr/bin/env bash
# Makes the benchmark data where it is missing, then times ckpt against the plain tools.
#
#   scripts/bench.sh [--dir DIR] [--ckpt PATH] [--python PATH] [--rounds N] [--only warm,write,cold,records]
#
# Prints one Markdown table; exits 1 when a target is missed. Needs about 14 GB of disk under DIR.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$here/../build/bench
ckpt=
python=${CKPT_PYTHON:-$here/../build/interop-venv/bin/python}
[[ -x $python ]] || python=python3
rest=()
while (($#)); do
  case $1 in
    -h | --help)
      sed -n '2,6s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"
      exit 0
      ;;
    --dir | --ckpt | --python | --rounds | --only)
      if (($# < 2)); then
        echo "bench.sh: $1 needs a value" >&2
        exit 2
      fi
      case $1 in
        --dir) dir=$2 ;;
        --ckpt) ckpt=$2 ;;
        --python) python=$2 ;;
        *) rest+=("$1" "$2") ;;
      esac
      shift 2
      ;;
    *)
      echo "bench.sh: what is $1?" >&2
      exit 2
      ;;
  esac
done

if [[ -z $ckpt ]]; then
  ckpt=$here/../build/release/apps/ckpt/ckpt
  [[ -x $ckpt ]] || ckpt=ckpt
fi

mkdir -p "$dir"
wanted=()
[[ -e $dir/flat.pt && -e $dir/nested.ckpt && -e $dir/reference.safetensors ]] ||
  wanted+=(--flat "$dir/flat.pt" --nested "$dir/nested.ckpt" --reference "$dir/reference.safetensors")
[[ -e $dir/records100k.pt ]] || wanted+=(--records 100000 "$dir/records100k.pt")
if ((${#wanted[@]})); then
  "$python" -B "$here/make_checkpoint.py" "${wanted[@]}" >&2 ||
    echo "bench.sh: no data could be made; what is missing is left out" >&2
fi

exec python3 -B "$here/bench.py" --dir "$dir" --ckpt "$ckpt" --python "$(command -v "$python")" "${rest[@]}"
