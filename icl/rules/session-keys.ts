import type { NodeStatement } from '../../lib/statements.ts'
import type { NodeCommand } from './commands.ts'
import type { Job } from './job.ts'
import type { Posted } from './posted.ts'

function statementIn(command: NodeCommand): Posted<NodeStatement> | undefined {
  if ('answer' in command) return command.answer
  if ('delivery' in command) return command.delivery
  if ('verdict' in command) return command.verdict
  if ('numbers' in command) return command.numbers
  return 'abort' in command ? command.abort : undefined
}

/** The nodes' statements that a receipt of the job may hold. */
const statementsOf = ({
  assignments,
  agreement,
  weighing,
}: Job): readonly Posted<NodeStatement>[] => [
  ...assignments.flatMap(({ answer }) => answer ?? []),
  ...(agreement?.turns ?? []).flatMap(({ delivery, verdicts, failed }) => [
    ...(delivery ? [delivery] : []),
    ...verdicts,
    ...(failed?.abort ? [failed.abort] : []),
  ]),
  ...(weighing?.opened ?? []),
]

/** True when the command's statement is signed with a session key that another node used in this job: no valid receipt can hold both. */
export function hasKeyOfAnother(job: Job, command: NodeCommand): boolean {
  const own = statementIn(command)
  return statementsOf(job).some(
    ({ session, body }) => session.key === own?.session.key && body.address !== own.body.address,
  )
}
