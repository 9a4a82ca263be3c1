import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { programOf } from '../../../demo/runtime-programs.ts'
import { runCommand } from '../../../lib/host/run-command.ts'
import { DAY_S } from '../../contracts/test-chain.ts'
import { testFolder } from '../../test-folder.ts'
import { coprocessorAt, sealedValue, startDouble } from './coprocessor-double.ts'
import { hurriedClock } from './hurried-clock.ts'

const root = join(import.meta.dirname, '..', '..', '..')

let double: Awaited<ReturnType<typeof startDouble>>
beforeEach(async () => {
  double = await startDouble()
})
afterEach(() => double.close())

/** Notes the permit of each decryption. */
function notePermits() {
  const permits: { readonly sealingKey: string; readonly expiration: unknown }[] = []
  const { seal } = double.answers
  double.answers.seal = (body) => {
    permits.push(body.permit)
    return seal(body)
  }
  return permits
}

describe('the permit of a session', () => {
  it('is renewed a day before it expires', async () => {
    const permits = notePermits()
    const clock = hurriedClock()
    const coprocessor = coprocessorAt(double.url, { clock })
    for (const days of [0, 5.9, 6.1, 12]) {
      clock.aheadMs = days * DAY_S * 1000
      await coprocessor.decrypt(1n)
    }
    expect(new Set(permits.map(({ sealingKey }) => sealingKey)).size).toBe(2)
    const lifetime = 7 * DAY_S
    const start = 1_800_000_000
    const renewed = start + Math.floor(6.1 * DAY_S) + lifetime
    expect(permits.map(({ expiration }) => Number(expiration))).toEqual([
      start + lifetime,
      start + lifetime,
      renewed,
      renewed,
    ])
  })

  it('is made anew once when the network does not accept it', async () => {
    const permits = notePermits()
    const { seal } = double.answers
    const expired = { status: 403, body: { error_message: 'PermissionInvalid_Expired' } }
    double.answers.seal = (body) => {
      const isFirst = permits.length === 0
      const answer = seal(body)
      return isFirst ? expired : answer
    }
    expect(await coprocessorAt(double.url).decrypt(1n)).toBe(sealedValue)
    expect(permits).toHaveLength(2)
    expect(permits[0]?.sealingKey).not.toBe(permits[1]?.sealingKey)

    double.answers.seal = (body) => {
      seal(body)
      return expired
    }
    const code = 'coprocessor-access-denied'
    await expect(coprocessorAt(double.url).decrypt(1n)).rejects.toMatchObject({ code })
    expect(permits).toHaveLength(4)
  })

  it('is for the access list of this chain and no other', async () => {
    for (const domain of [
      { ...double.answers.domain, chainId: 1 },
      // With this one the SDK would leave its production path.
      { ...double.answers.domain, chainId: 31_337 },
      { ...double.answers.domain, contract: `0x${'bb'.repeat(20)}` as const },
    ]) {
      double.answers.domain = domain
      const coprocessor = coprocessorAt(double.url)
      const code = 'coprocessor-permit-invalid'
      await expect(coprocessor.makePermit()).rejects.toMatchObject({ code, retryable: false })
      await expect(coprocessor.decrypt(1n)).rejects.toMatchObject({ code })
    }
    expect(double.count('/v2/sealoutput')).toBe(0)
  })

  it('is in memory only, also where the SDK would keep it in localStorage', async () => {
    const program = programOf('deno')
    if (program === undefined) throw new Error('There is no Deno: run `npm run setup`')
    const folder = testFolder()
    const script = join(import.meta.dirname, 'permit-storage.ts')
    const place = ['--no-lock', '--node-modules-dir=manual', '--location', 'http://svc.test']
    const { code, stdout, stderr } = await runCommand([program, 'run', '-A', ...place, script], {
      cwd: root,
      env: { ...process.env, DENO_DIR: folder },
      timeoutMs: 60_000,
    })
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    // The second is what the SDK's own store would leave behind.
    expect(JSON.parse(stdout)).toEqual({ ours: 0, stored: 1 })
  })
})
