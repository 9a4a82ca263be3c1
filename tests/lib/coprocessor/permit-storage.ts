// For Deno, where `localStorage` exists and the SDK would keep permits in it: prints how many entries there are after a
// session of ours, and after a permit was put into the SDK's own store.
import { PermitUtils, permitStore } from '@cofhe/sdk/permits'
import { chainId, coprocessorAt, startDouble } from './coprocessor-double.ts'

const double = await startDouble()
localStorage.clear()
const coprocessor = coprocessorAt(double.url)
await coprocessor.makePermit()
await coprocessor.decrypt(1n)
await coprocessor.encrypt(1n, 2n)
const ours = localStorage.length

const issuer = `0x${'12'.repeat(20)}` as const
permitStore.setPermit(chainId, issuer, PermitUtils.createSelf({ issuer }))
const stored = localStorage.length
localStorage.clear()
process.stdout.write(JSON.stringify({ ours, stored }))
process.exit(0)
