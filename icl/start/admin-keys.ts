import { Base64Url32 } from '../../lib/codecs.ts'
import { option } from '../../lib/host/program/option.ts'
import type { Command } from '../../lib/host/program/program.ts'
import { SvcError } from '../../lib/svc-error.ts'
import type { AdminContext } from '../admin/context.ts'
import { listGenerations, listPublicKeys, rotateKeys, withdrawKey } from '../records/keyring.ts'
import { type AdminTerminal, done, nothingThere, recorded, storeCommand } from './admin-command.ts'
import { columns, time } from './admin-text.ts'

/** The commands about signing keys. */
export const keyCommands: readonly Command<AdminTerminal>[] = [
  storeCommand({
    name: 'keys list',
    summary: 'Show the generations of signing keys, and every published public key',
    prepare: () => async (context) => {
      const { store, clock } = context
      const generations = await listGenerations(store, clock)
      const keys = await listPublicKeys(store, clock)
      return {
        json: {
          generations: generations.map(({ generation, activeAt }) => ({
            generation,
            active_at: activeAt === 0 ? null : time(activeAt),
          })),
          keys: keys.map(({ jwk, generation = null, since, withdrawn }) => ({
            ...jwk,
            generation,
            since: time(since),
            withdrawn,
          })),
        },
        lines: [
          ...columns([
            ['generation', 'signs from'],
            ...generations.map(({ generation, activeAt }) => [
              String(generation),
              activeAt === 0 ? 'the start' : time(activeAt),
            ]),
          ]),
          '',
          ...columns([
            ['public key', 'algorithm', 'generation', 'since', 'published'],
            ...keys.map(({ jwk, generation = '-', since, withdrawn }) => [
              jwk.kid,
              jwk.alg,
              String(generation),
              time(since),
              withdrawn ? 'no' : 'yes',
            ]),
          ]),
        ],
      }
    },
  }),
  storeCommand({
    name: 'keys rotate',
    summary: 'Make new signing keys. They are published at once and sign a minute later',
    prepare: () => (context) =>
      recorded(context, 'keys rotate', async () => {
        const made = await rotateKeys(context.store, context.clock)
        if (!made) {
          throw new SvcError('busy', 'The last rotation is not complete yet', {
            hint: 'Wait a minute. `keys list` shows when it is ready.',
          })
        }
        return done(`Generation ${made.generation} signs from ${time(made.activeAt)}`, {
          generation: made.generation,
          active_at: time(made.activeAt),
        })
      }),
  }),
  storeCommand({
    name: 'keys withdraw',
    summary: 'Withdraw a stolen key: nothing that it ever signed counts',
    args: { kid: option(Base64Url32, 'KEY', '', { isDashed: true }) },
    prepare:
      ({ kid }) =>
      async (context) => {
        await checkNotLast(context, kid)
        return recorded(context, `keys withdraw ${kid}`, async () => {
          if (await withdrawKey(context.store, context.clock, kid)) {
            return done(`${kid} is published no more`, { kid })
          }
          throw nothingThere(`No key ${kid} is published`, 'List them with `keys list`.')
        })
      },
  }),
]

/** Throws SvcError `busy` for the only published key of its algorithm: the ICL would go on to sign with it, and nobody would believe it. */
async function checkNotLast({ store, clock }: AdminContext, kid: string): Promise<void> {
  const published = (await listPublicKeys(store, clock)).filter(({ withdrawn }) => !withdrawn)
  const own = published.find(({ jwk }) => jwk.kid === kid)
  if (!own || published.some(({ jwk }) => jwk.alg === own.jwk.alg && jwk.kid !== kid)) return
  const message = `${kid} is the only ${own.jwk.alg} key: without it nothing that the ICL signs counts`
  throw new SvcError('busy', message, {
    hint: 'Run `keys rotate`. Withdraw it a minute later, when `keys list` shows a new key.',
  })
}
