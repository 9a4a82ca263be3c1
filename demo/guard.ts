import { spawn } from 'node:child_process'

/** Outlives this process briefly, to end the processes that it left behind. */
export type Guard = {
  readonly add: (pid: number) => void
  readonly remove: (pid: number) => void
  /** Ends the guard without further action, after all processes have ended in order. */
  readonly rest: () => void
}

// Its input ends when the parent process ends in any way. Then it kills the remaining processes and removes the folder.
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

/** Starts a guard for processes that lead their own groups, and for a temporary folder. Does nothing on Windows. */
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
