import { spawn } from 'node:child_process'

/** Outlives this process for a moment, to end what it left behind. */
export type Guard = {
  readonly add: (pid: number) => void
  readonly remove: (pid: number) => void
  /** Everything was ended in order: the guard goes without a deed. */
  readonly rest: () => void
}

// Its input ends with the process that started it, however that ended: then it kills what is left and cleans up.
const script = `
trap '' INT TERM HUP
pids=' '
while read -r word pid; do
  case $word in
    add) pids="$pids$pid " ;;
    remove) pids="\${pids%% $pid *} \${pids#* $pid }" ;;
    rest) exit 0 ;;
  esac
done
for pid in $pids; do kill -9 "-$pid" 2>/dev/null; done
rm -rf "$1"
`

/** Starts a guard over processes that lead their own groups and over a temporary folder; none on Windows. */
export function startGuard(folder: string): Guard {
  if (process.platform === 'win32') return { add: () => {}, remove: () => {}, rest: () => {} }
  const child = spawn('/bin/sh', ['-c', script, 'guard', folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  child.unref()
  const { stdin } = child
  stdin.on('error', () => {})
  const tell = (line: string) => {
    if (stdin.writable) stdin.write(`${line}\n`)
  }
  return {
    add: (pid) => tell(`add ${pid}`),
    remove: (pid) => tell(`remove ${pid}`),
    rest: () => {
      tell('rest')
      stdin.end()
    },
  }
}
