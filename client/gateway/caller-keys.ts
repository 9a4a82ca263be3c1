import { z } from 'zod'
import { equalBytes, utf8 } from '../../lib/digest.ts'
import { SvcError } from '../../lib/svc-error.ts'
import { readSecretFile } from '../connect/secret-file.ts'

/** A key that callers may show, and its name, which stands in the log in its place. */
export type CallerKey = { readonly name: string; readonly key: string }

/** A caller's key: what a header can hold. */
export const ApiKey = z
  .string()
  .min(16, 'must have at least 16 characters')
  .max(512, 'must have at most 512 characters')
  .regex(/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/, 'takes printable ASCII characters')

const KeysFile = z
  .strictObject({
    keys: z
      .array(z.strictObject({ name: z.string().regex(/^[\w.-]{1,64}$/), key: ApiKey }))
      .min(1)
      .max(256),
  })
  .superRefine(({ keys }, { addIssue }) => {
    for (const member of ['name', 'key'] as const) {
      const all = new Set(keys.map((one) => one[member]))
      if (all.size < keys.length) {
        addIssue({ code: 'custom', path: ['keys'], message: `has a ${member} twice` })
      }
    }
  })

/** The keys of a file that its owner alone may read: `{"keys": [{"name", "key"}]}`. Throws SvcError `gateway-keys-unreadable`, `gateway-keys-exposed` or `gateway-keys-invalid`, which quote no key. */
export async function readCallerKeys(path: string): Promise<readonly CallerKey[]> {
  const text = await readSecretFile(path, 'gateway-keys', 'SVC_GATEWAY_KEYS_FILE')
  let json: unknown
  try {
    json = JSON.parse(text.replace(/^\ufeff/, ''))
  } catch {
    // The parser's words may quote a key.
    throw invalid(path, 'it is not JSON')
  }
  const parsed = KeysFile.safeParse(json)
  if (parsed.success) return parsed.data.keys
  const [issue] = parsed.error.issues
  throw invalid(path, `${issue?.path.join('.') || 'the file'}: ${wordsOf(issue)}`)
}

// Unknown members are quoted, and could be keys.
const wordsOf = (issue: z.core.$ZodIssue | undefined): string =>
  issue?.code === 'unrecognized_keys' ? 'has other members' : (issue?.message ?? '')

const invalid = (path: string, why: string): SvcError =>
  new SvcError('gateway-keys-invalid', `the key file ${path} has a mistake: ${why}`, {
    hint: 'It takes {"keys": [{"name": "ann", "key": "16 characters or more"}]}, 256 keys at most.',
  })

/** The name of the key that a caller showed; undefined when it is none. It takes a time that does not tell how much of which key was right. */
export function callerOf(shown: string, keys: readonly CallerKey[]): string | undefined {
  const bytes = utf8(shown)
  let found: string | undefined
  for (const { name, key } of keys) if (equalBytes(bytes, utf8(key))) found = name
  return found
}
