import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { fromBase64Url, toBase64Url } from '../../../lib/digest.ts'
import type { TpmEvidence } from '../../../lib/schemas/attestation.ts'
import { createTpmWriter } from '../../../lib/tpm/bytes.ts'
import { toHex } from '../../../lib/tpm/hex.ts'

const run = promisify(execFile)
const patienceMs = 60_000
const ekCertificateIndex = '0x01c00002'

/** A TPM that is driven by Debian's tpm2-tools: nothing of this project speaks to it. */
export type ToolsTpm = Awaited<ReturnType<typeof openToolsTpm>>

/** Makes an endorsement key and an attestation key in the TPM at `tcti`. */
export async function openToolsTpm(tcti: string, kind: 'ecc' | 'rsa' = 'ecc') {
  const folder = await mkdtemp(join(tmpdir(), 'tpm2-tools-'))
  const tool = (name: string, ...args: string[]) =>
    run(`tpm2_${name}`, args, {
      cwd: folder,
      timeout: patienceMs,
      env: { ...process.env, TPM2TOOLS_TCTI: tcti },
    })
  const read = async (file: string) => new Uint8Array(await readFile(join(folder, file)))
  const scheme = kind === 'ecc' ? 'ecdsa' : 'rsassa'
  await tool('nvread', ekCertificateIndex, '-o', 'ek.der')
  // A socket has no kernel behind it that forgets objects and sessions.
  const flush = async () => {
    for (const what of ['-t', '-l', '-s']) await tool('flushcontext', what)
  }
  const createKeys = async () => {
    await tool('createek', '-G', 'rsa', '-c', 'ek.ctx', '-u', 'ek.pub')
    await flush()
    const shape = ['-G', kind, '-g', 'sha256', '-s', scheme]
    await tool('createak', '-C', 'ek.ctx', '-c', 'ak.ctx', ...shape, '-u', 'ak.pub', '-r', 'ak.key')
    await flush()
  }
  await flush()
  await createKeys()
  return {
    certificate: toBase64Url(await read('ek.der')),
    /** TPMT_PUBLIC: what the tool writes has a length before it. */
    akPublic: toBase64Url((await read('ak.pub')).slice(2)),
    /** TPM2_ActivateCredential under the policy of the endorsement key. */
    activate: async (answer: { credential_blob: string; encrypted_secret: string }) => {
      const credential = createTpmWriter()
        .u32(0xbadcc0de)
        .u32(1)
        .sized(fromBase64Url(answer.credential_blob))
        .sized(fromBase64Url(answer.encrypted_secret))
        .done()
      await writeFile(join(folder, 'credential'), credential)
      await tool('startauthsession', '--policy-session', '-S', 'session.ctx')
      await tool('policysecret', '-S', 'session.ctx', '-c', 'e')
      const keys = ['-c', 'ak.ctx', '-C', 'ek.ctx', '-P', 'session:session.ctx']
      await tool('activatecredential', ...keys, '-i', 'credential', '-o', 'secret')
      await flush()
      return read('secret')
    },
    quote: async (extraData: Uint8Array, pcrs: readonly number[]): Promise<TpmEvidence> => {
      const list = `sha256:${pcrs.join(',')}`
      const out = ['-m', 'quote', '-s', 'signature', '-g', 'sha256']
      await tool('quote', '-c', 'ak.ctx', '-l', list, '-q', toHex(extraData), ...out)
      await tool('pcrread', list, '-o', 'pcrs')
      await flush()
      const values = await read('pcrs')
      const quotedValue = (index: number) => toHex(values.slice(index * 32, index * 32 + 32))
      return {
        backend: 'tpm',
        attest: toBase64Url(await read('quote')),
        signature: toBase64Url(await read('signature')),
        pcrs: Object.fromEntries(pcrs.map((pcr, index) => [String(pcr), quotedValue(index)])),
      }
    },
    /** Measures something into a register. */
    extend: (pcr: number, digest: Uint8Array) =>
      tool('pcrextend', `${pcr}:sha256=${toHex(digest)}`),
    close: () => rm(folder, { recursive: true, force: true }),
  }
}
