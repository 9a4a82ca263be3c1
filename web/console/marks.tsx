import type { JobPhase } from '../../lib/schemas/jobs.ts'
import { words } from './format.ts'

/** The phases in the order of a job's life. */
export const phases: readonly JobPhase[] = [
  'open',
  'running',
  'accepted',
  'disputed',
  'expired',
  'cancelled',
]

export type Tone = 'good' | 'busy' | 'bad' | 'quiet'

const tones: Readonly<Record<JobPhase, Tone>> = {
  open: 'busy',
  running: 'busy',
  accepted: 'good',
  disputed: 'bad',
  expired: 'bad',
  cancelled: 'quiet',
}
export const toneOf = (phase: JobPhase): Tone => tones[phase]

// A shape for each tone, since colour alone must not carry meaning.
const shapes: Readonly<Record<Tone, string>> = {
  good: 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Z',
  busy: 'M6 1a5 5 0 1 0 0 10A5 5 0 0 0 6 1Zm0 2a3 3 0 0 1 0 6Z',
  bad: 'M6 1 11.5 11H.5Z',
  quiet: 'M2 5h8v2H2Z',
}

/** A mark with a word. */
export function Mark({ tone, children }: { tone: Tone; children: preact.ComponentChildren }) {
  return (
    <span class={`mark ${tone}`}>
      <svg viewBox="0 0 12 12" width="10" height="10" aria-hidden="true" focusable="false">
        <path d={shapes[tone]} fill-rule="evenodd" />
      </svg>
      {children}
    </span>
  )
}

/** Whether a node is active; the children say why not. */
export const NodeMark = (props: { active: boolean; children: preact.ComponentChildren }) => (
  <Mark tone={props.active ? 'good' : 'bad'}>{props.active ? 'active' : props.children}</Mark>
)

export const PhaseMark = ({ phase }: { phase: JobPhase }) => (
  <Mark tone={toneOf(phase)}>{words(phase)}</Mark>
)
