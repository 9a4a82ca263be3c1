import type { CommandSpec } from './command-spec.ts'

/** Checks receipts. The only command that needs no node. */
export const receiptCommand: CommandSpec = {
  name: 'receipt',
  args: ['verify', '<file>'],
  summary: 'Check a receipt, without a network or also against the chain',
  flags: [
    [
      '--rpc <url>...',
      'Also check against the chain behind this RPC address. All that are given have to agree',
    ],
    [
      '--result-registry <address>',
      "ResultRegistry on that chain (default: from the receipt's ICL)",
    ],
    [
      '--prompt-key-store <address>',
      "PromptKeyStore on that chain (default: from the receipt's ICL)",
    ],
    ['--gateway <url>', 'Also draw the list again, from the pool that this IPFS gateway has'],
    [
      '--icl-key <key>',
      "One of the ICL's public keys (base64url, --icl-key=KEY if it begins with -), which must have signed the tally",
    ],
    ['--with <file>', 'Also compare with acknowledgements of the ICL, as a node keeps them'],
    ['--json', 'Print JSON'],
  ],
  words: ['verify'],
  load: async () => {
    const { checkReceipt } = await import('./receipt.ts')
    return async (flags, context, [action = '', file = '']) =>
      await checkReceipt(action, file, flags, context)
  },
}
