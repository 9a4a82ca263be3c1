import { execFileSync } from 'node:child_process'
import type { LocalNode } from '../../demo/node-process.ts'
import { systemClock } from '../../lib/system.ts'

const pollMs = 100
// Of about ten, and more than it takes to load the code and the keys.
const inTheMiddleSeconds = 2

type Row = {
  readonly pid: number
  readonly parent: number
  /** How long it has computed. */
  readonly seconds: number
  readonly args: string
}

// [hours:]minutes:seconds, on macOS with hundredths; no proof takes days.
const secondsOf = (time: string): number =>
  time.split(':').reduce((sum, part) => sum * 60 + Number(part), 0)

const processes = (): readonly Row[] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid=,time=,args='], { encoding: 'utf8' })
    .split('\n')
    .flatMap((line) => {
      const [, pid, parent, time, args] = /^\s*(\d+)\s+(\d+)\s+(\S+)\s+(.*)$/.exec(line) ?? []
      if (time === undefined || args === undefined) return []
      return [{ pid: Number(pid), parent: Number(parent), seconds: secondsOf(time), args }]
    })

const proofOf = (nodes: readonly LocalNode[]): Row | undefined => {
  const parents = nodes.map(({ process }) => process.pid)
  return processes().find(
    ({ parent, args }) => parents.includes(parent) && args.includes('proof-process'),
  )
}

/** Kills the first proof process of a node in the middle of its work; resolves with the node's name, or undefined once `over` has resolved. */
export const killFirstProof = async (
  nodes: readonly LocalNode[],
  over: Promise<unknown>,
): Promise<LocalNode | undefined> => {
  let ended = false
  const end = () => {
    ended = true
  }
  over.then(end, end)
  for (; !ended; await systemClock.sleep(pollMs)) {
    const proof = proofOf(nodes)
    if (proof === undefined || proof.seconds < inTheMiddleSeconds) continue
    process.kill(proof.pid, 'SIGKILL')
    return nodes.find((node) => node.process.pid === proof.parent)
  }
  return undefined
}
