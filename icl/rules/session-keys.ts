import type { NodeStatement } from '../../lib/statements.ts'
import type { NodeCommand } from './commands.ts'
import type { Job } from './job.ts'
import type { Posted } from './posted.ts'

/** The statement of a node that a command brings. */
function statementIn(command: NodeCommand): Posted<NodeStatement> | undefined {
  switch (command.type) {
    case 'reveal':
      return command.answer
    case 'deliver':
      return command.delivery
    case 'post-verdict':
      return command.verdict
    case 'abort-turn':
      return command.abort
    default:
      return undefined
  }
}

/** The statements of nodes that a receipt of the job may hold. */
const statementsOf = ({ assignments, agreement }: Job): readonly Posted<NodeStatement>[] => [
  ...assignments.flatMap(({ answer }) => answer ?? []),
  ...(agreement?.turns ?? []).flatMap(({ delivery, verdicts, failed }) => [
    ...(delivery ? [delivery] : []),
    ...verdicts,
    ...(failed?.abort ? [failed.abort] : []),
  ]),
]

/** True when a command brings a statement by a session key that another node has signed with in this job: no receipt holds with both. */
export function hasKeyOfAnother(job: Job, command: NodeCommand): boolean {
  const statement = statementIn(command)
  return (
    statement !== undefined &&
    statementsOf(job).some(
      ({ session, body }) =>
        session.key === statement.session.key && body.address !== statement.body.address,
    )
  )
}
