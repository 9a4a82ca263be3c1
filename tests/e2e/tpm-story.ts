import { randomUUID } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { whyNoSwtpm } from '../tools/swtpm.ts'
import { startTpmWorld, type TpmNode, type TpmWorld } from './tpm-world.ts'

/** Tells what nodes with software TPMs (swtpm) go through, by the sources or by an executable. */
export function describeTpmNodes(
  what: string,
  builtBinary: () => Promise<string | undefined>,
): void {
  const missing = whyNoSwtpm()
  describe(what, () => {
    if (missing !== undefined) {
      it.skip(missing, () => {})
      return
    }
    const answer = `answer ${randomUUID()}`
    let world: TpmWorld
    const nodes: TpmNode[] = []
    beforeAll(async () => {
      world = await startTpmWorld(answer, await builtBinary())
      const names = ['one', 'two', 'three']
      const prepare = async (name: string) => world.prepare(name, await world.maker.start())
      nodes.push(...(await Promise.all(names.map(prepare))))
    }, 240_000)
    afterAll(() => world.stop())

    const node = (index: number): TpmNode => {
      const found = nodes[index]
      if (!found) throw new Error(`There is no node ${index}`)
      return found
    }
    const recordPath = ({ folder }: TpmNode) => join(folder, 'attestation.json')
    const recordOf = async (of: TpmNode) => JSON.parse(await readFile(recordPath(of), 'utf8'))

    it('attest, telling every step; the certificate names the TPM', async () => {
      for (const told of await Promise.all(nodes.map((each) => world.command(each, ['attest'])))) {
        for (const step of ['Challenge:', 'Enrol:', 'Activate:', 'Quote:', 'Attested 0x']) {
          expect(told).toContain(step)
        }
      }
      const certificates = await Promise.all(
        nodes.map(async (each) => (await recordOf(each)).certificate),
      )
      const shown = certificates.map(
        (text) => decodeJwt<{ att: { ek: string; ak: string } }>(text).att,
      )
      expect(new Set(shown.map(({ ek }) => ek)).size).toBe(3)
      // It ends with 1, since no daemon has shown itself yet.
      const status = await world.command(node(0), ['status', '--json']).catch(String)
      const { certificate } = JSON.parse(/^\{.*\}$/m.exec(status)?.[0] ?? '')
      const { ek, ak } = shown[0] ?? {}
      expect(certificate).toMatchObject({ backend: 'tpm', tpm: { ek, ak } })
    })

    it('do a job together, one of them after its expired certificate was renewed by a quote', async () => {
      const renewing = node(0)
      const record = await recordOf(renewing)
      await writeFile(recordPath(renewing), JSON.stringify({ ...record, expires_at: 1_000 }))
      const running = nodes.map(world.run)
      for (const each of running) await world.logged(each, 'The ICL considers this node')
      const [first] = running
      if (!first) throw new Error('Nothing runs')
      await world.logged(first, 'Attested with the ICL (tpm)')
      expect((await recordOf(renewing)).expires_at).toBeGreaterThan(record.expires_at - 60)

      // What a node serves later says nothing of the answer that it gave.
      const lower = () => Promise.all(nodes.map((each) => world.setTiers(each, [0])))
      const result = await world.ask(`What is it, ${randomUUID()}?`, lower)
      expect(result).toMatchObject({ status: 'accepted', output: answer })
      const worked = [result.deliverer, ...result.verdicts.map((verdict) => verdict.node)]
      expect(new Set(worked)).toEqual(new Set(nodes.map(({ address }) => address)))
      await world.processes.stop(running.map(({ process }) => process))
    })

    it('move a machine to another wallet by release', async () => {
      const heir = await world.prepare('heir', node(2).tpm)
      await expect(world.command(heir, ['attest', '--json'])).rejects.toThrow('svc-node release')
      const released = JSON.parse(await world.command(node(2), ['release', '--yes', '--json']))
      expect(released.released).toHaveLength(1)
      await expect(world.command(node(2), ['run'])).rejects.toThrow('svc-node attest')
      const attested = JSON.parse(await world.command(heir, ['attest', '--json']))
      expect(attested).toMatchObject({ address: heir.address, backend: 'tpm' })
    })
  })
}
