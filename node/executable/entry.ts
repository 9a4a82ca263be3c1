// The first file of the executable.
switch (process.argv[2]) {
  case 'self-check': {
    const { selfCheck } = await import('./self-check.ts')
    await selfCheck(process.argv.slice(3))
    break
  }
  // The executable starts itself with this argument to make a proof (lib/host/coprocessor/proof-child.ts).
  case 'proof-process':
    await import('../../lib/host/coprocessor/proof-process.ts')
    break
  default:
    await import('../main.ts')
}

export {}
