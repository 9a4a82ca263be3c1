import { buildContracts } from '../../../contracts/build.ts'
import { type Artifacts, compileSolidity } from '../../../contracts/solc.ts'
import { readSources } from '../../../contracts/sources.ts'

/** A mistake planted into a copy of a contract. */
export type Mutant = {
  readonly name: string
  readonly file: 'NodeRegistry' | 'PromptKeyStore' | 'ResultRegistry' | 'TwoStepRoles'
  /** Stands in the source once. */
  readonly find: string
  readonly replace: string
}

/** Mistakes that the invariants have to find. */
export const mutants: readonly Mutant[] = [
  {
    name: 'anybody-grants',
    file: 'PromptKeyStore',
    find: 'if (!byOwner && record.delegate != msg.sender) revert NotAuthorized(msg.sender);',
    replace: 'byOwner = true;',
  },
  {
    name: 'keys-are-overwritten',
    file: 'PromptKeyStore',
    find: 'if (_taken[handle]) revert HandleTaken(handle);',
    replace: '',
  },
  {
    name: 'others-handles-are-stored',
    file: 'PromptKeyStore',
    find: 'if (!FHE.isAllowed(encrypted, msg.sender)) revert HandleNotAllowed(handle, msg.sender);',
    replace: '',
  },
  {
    name: 'grants-are-not-counted',
    file: 'PromptKeyStore',
    find: 'record.grantsLeft -= 1;',
    replace: '',
  },
  {
    name: 'half-a-pair-is-enough',
    file: 'PromptKeyStore',
    find: 'if (record.owner == address(0) || record.lowHandle != lowHandle) revert',
    replace: 'if (record.owner == address(0)) revert',
  },
  {
    name: 'silent-nodes-get-keys',
    file: 'PromptKeyStore',
    find: 'if (!nodeRegistry.isActive(reader)) revert NodeNotActive(reader);',
    replace: '',
  },
  {
    name: 'slash-is-not-subtracted',
    file: 'NodeRegistry',
    find: 'node.slashed += amount;\n        totalStake -= amount;',
    replace: 'node.slashed += amount;',
  },
  {
    name: 'withdrawal-is-not-subtracted',
    file: 'NodeRegistry',
    find: 'totalStake -= amount;\n        emit Withdrawn',
    replace: 'emit Withdrawn',
  },
  {
    name: 'treasury-is-paid-again',
    file: 'NodeRegistry',
    find: 'treasuryBalance = 0;',
    replace: '',
  },
  {
    name: 'paid-before-removed',
    file: 'NodeRegistry',
    find: 'uint128 slashed = node.slashed;\n',
    replace: 'uint128 slashed = node.slashed;\n        _pay(msg.sender, 0);\n',
  },
  {
    name: 'frozen-stake-leaves',
    file: 'NodeRegistry',
    find: 'if (node.pendingSlashes != 0) revert StakeFrozen(node.pendingSlashes);',
    replace: '',
  },
  {
    name: 'withdrawn-a-second-late',
    file: 'NodeRegistry',
    find: 'if (block.timestamp < withdrawableAt)',
    replace: 'if (block.timestamp <= withdrawableAt)',
  },
  {
    name: 'slash-proposed-for-ever',
    file: 'NodeRegistry',
    find: 'if (node.unbondingAt != 0 && block.timestamp >= node.unbondingAt + UNBONDING_PERIOD) {',
    replace: 'if (false) {',
  },
  {
    name: 'results-are-overwritten',
    file: 'ResultRegistry',
    find: 'result.receiptHash, result.outputCidHash);\n            return;',
    replace: 'result.receiptHash, result.outputCidHash);',
  },
  {
    name: 'anybody-commits',
    file: 'ResultRegistry',
    find: 'external onlyRole(COORDINATOR)',
    replace: 'external',
  },
  {
    name: 'roles-move-in-one-step',
    file: 'TwoStepRoles',
    find: 'pendingHolderOf[role] = next;',
    replace: 'pendingHolderOf[role] = next;\n        if (next != address(0)) _setRole(role, next);',
  },
  {
    name: 'roles-are-taken-twice',
    file: 'TwoStepRoles',
    find: 'delete pendingHolderOf[role];',
    replace: '',
  },
]

/** The contracts with a mutant among them; throws when the mistake cannot be planted any more. */
export const plant = async ({ name, file, find, replace }: Mutant): Promise<Artifacts> => {
  const names = file === 'TwoStepRoles' ? ['NodeRegistry', 'ResultRegistry'] : [file]
  const sources = new Map(await readSources(names.map((one) => `contracts/${one}.sol`)))
  const path = `contracts/${file}.sol`
  const text = sources.get(path) ?? ''
  if (text.split(find).length !== 2) throw new Error(`${name}: ${path} has no single "${find}"`)
  sources.set(
    path,
    text.replace(find, () => replace),
  )
  const artifacts = compileSolidity(sources)
  const changed = Object.entries(artifacts).filter(([contract]) => names.includes(contract))
  return { ...(await buildContracts()), ...Object.fromEntries(changed) }
}
