/**
 * Blocks of the documentation that are no example of `examples/` and that tests/examples/example-tests.ts does not run: by file and
 * how they begin, which test runs what they show, or why none can.
 */
export const runElsewhere: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'README.md': {
    'npm run demo -- "Name three':
      'tests/e2e/demo-script.test.ts runs the demo; npm test is what runs this',
  },
  'docs/client.md': {
    'npm run demo -- --keep':
      'stays until Ctrl-C; tests/client starts the same world, with the same settings',
  },
  'docs/build.md': {
    'npm run build:node ':
      'takes minutes and downloads runtimes; tests/binary builds for this machine',
    'sha256sum --check': 'needs a published release; tests/binary runs self-check',
    'sudo install -m 755 svc-node': 'needs root and systemd; tests/packaging checks the units',
    'npm run build:node -- --target': 'needs a container engine',
  },
  'docs/comparators.md': { 'export FIREWORKS_API_KEY': 'needs a key of a provider, and money' },
  'docs/contracts.md': {
    'npm run contracts:deploy':
      'needs a public network, and money; tests/contracts deploys on a local chain',
    'node scripts/bun.mjs contracts/local/coprocessor':
      'a server that stays; tests/contracts/local starts it',
  },
  'docs/your-own.md': {
    'apt-get update':
      'needs root and an empty machine; tests/icl/admin and tests/contracts run both commands',
    'install -m 755': 'needs root and systemd; tests/packaging checks the units',
    'svc-icl-as-service admin backup': 'needs root and systemd; tests/icl/admin runs the command',
    'c=packaging/compose': 'needs a container engine; tests/packaging checks the settings',
    'kubectl create': 'needs Kubernetes; tests/packaging checks the settings',
    'npm run demo -- --icl wrangler':
      'needs an account; `npm run test:runtimes` runs the ICL under wrangler dev',
    'export SVC_ICL_PUBLIC_URL': 'needs an account; `npm run test:runtimes` runs the task of Deno',
    'export SVC_ICL_ENDPOINT=https://icl.example SVC_COFHE':
      'needs a public network; tests/node/commands runs each command',
    'export SVC_ICL_ENDPOINT=https://icl.example SVC_RPC':
      'needs a public network; tests/client runs the command',
    'export SVC_ICL_RPC_URL=http': 'needs root and the steps before it, which it changes',
  },
  'docs/operators.md': {
    '# 1. The executable':
      'needs a published release and a public network; tests/node runs each command',
    'export SVC_OLLAMA_BASE_URL':
      'needs an Ollama server; tests/e2e/inference.test.ts runs nodes with these variables',
    'source <(svc-node completion':
      "writes the user's shell files; tests/node/commands checks completions",
    'sudo usermod': 'needs root and a TPM; tests/node/commands runs doctor',
  },
  'docs/model-servers.md': {
    'llama-server -m': 'needs llama.cpp and a model; tried by hand, the page says when',
  },
  'docs/gateway.md': {
    'npm run gateway': 'a server that stays; tests/client/gateway serves the same',
    'curl http://127.0.0.1:8787/v1/chat/completions':
      'needs the server above; tests/client/gateway sends the same request',
    'git clone REPOSITORY': 'stays until Ctrl-C; npm run test:agents starts the same service',
    'mkdir agent-try': 'installs an agent; npm run test:agents runs it the same way',
    'pip install "litellm[proxy]"':
      'installs a proxy that stays; tried by hand, the page says when',
  },
  'docs/playground.md': {
    'npm run demo -- --playground':
      'stays until Ctrl-C; tests/browser opens the page of such a demo',
    'npm run build:playground': 'a server that stays; tests/browser builds the page and serves it',
  },
}

/** Examples that other tests run, which are named. */
export const examplesRunElsewhere: Readonly<Record<string, string>> = {
  'openai-gateway.ts': 'tests/client/gateway',
  'webhook-receiver.ts': 'tests/icl/webhooks',
}
