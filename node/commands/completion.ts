import type { CommandSpec } from './command-spec.ts'
import {
  type FlagSpec,
  flagName,
  isRepeatable,
  takesFile,
  takesValue,
  usageError,
} from './flags.ts'

type Commands = readonly CommandSpec[]

const shells: Readonly<Record<string, (commands: Commands) => readonly string[]>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

/** Prints a shell's completion script, which contains every command and flag. Throws SvcError `usage`. */
export function printCompletion(
  shell: string,
  commands: Commands,
  print: (line: string) => void,
): undefined {
  const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined
  if (script === undefined) {
    throw usageError(`no completion for ${shell}`, 'Name bash, zsh or fish.')
  }
  for (const line of script(commands)) print(line)
}

const namesOf = ({ flags }: CommandSpec): readonly string[] => [
  ...flags.map(([usage]) => flagName(usage)),
  '--help',
]

const needsFile = ({ args = [] }: CommandSpec): boolean => args.includes('<file>')

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** Uses nothing but bash itself. */
function bashScript(commands: Commands): readonly string[] {
  const cases = commands.map((command) => {
    const { name, words = [] } = command
    const file = needsFile(command) ? '; files=yes' : ''
    return `    ${name}) flags=${quoted(namesOf(command).join(' '))}; words=${quoted(words.join(' '))}${file} ;;`
  })
  const all = commands.flatMap(({ flags }) => flags)
  const named = (flags: readonly FlagSpec[]) =>
    [...new Set(flags.map(([usage]) => flagName(usage)))].join('|')
  const listed = all.filter(([, , values]) => values !== undefined)
  const withFile = all.filter(([usage]) => takesFile(usage))
  const withValue = all.filter(([usage]) => takesValue(usage))
  const values = new Map(listed.map(([usage, , words = []]) => [flagName(usage), words.join(' ')]))
  const files = [
    "local IFS=$'\\n'",
    'compopt -o filenames 2>/dev/null',
    'COMPREPLY=($(compgen -f -- "$current"))',
  ]
  return [
    '# Completion of svc-node for bash: source <(svc-node completion bash)',
    '_svc_node() {',
    `  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"`,
    "  local flags='' words='' files=''",
    '  COMPREPLY=()',
    '  if [ "$COMP_CWORD" -eq 1 ]; then',
    `    COMPREPLY=($(compgen -W ${quoted([...commands.map(({ name }) => name), '--help', '--version'].join(' '))} -- "$current"))`,
    '    return',
    '  fi',
    '  case "$previous" in',
    ...[...values].map(
      ([flag, words]) =>
        `    ${flag}) COMPREPLY=($(compgen -W ${quoted(words)} -- "$current")); return ;;`,
    ),
    `    ${named(withFile)}) ${files.join('; ')}; return ;;`,
    `    ${named(withValue)}) return ;;`,
    '  esac',
    `  case "\${COMP_WORDS[1]}" in`,
    ...cases,
    '  esac',
    '  if [[ "$current" == -* ]]; then',
    '    COMPREPLY=($(compgen -W "$flags" -- "$current"))',
    '  elif [ "$COMP_CWORD" -eq 2 ]; then',
    '    COMPREPLY=($(compgen -W "$words" -- "$current"))',
    '  elif [ -n "$files" ]; then',
    ...files.map((line) => `    ${line}`),
    '  fi',
    '}',
    'complete -F _svc_node svc-node',
  ]
}

function zshScript(commands: Commands): readonly string[] {
  const escaped = (text: string) => text.replaceAll(/[[\]:]/g, '\\$&')
  const cases = commands.map((command) => {
    const { flags, words = [] } = command
    const specs = flags.map(([usage, meaning, values]) => {
      const listed = values === undefined ? ':value:' : `:value:(${values.join(' ')})`
      const value = takesFile(usage) ? ':file:_files' : takesValue(usage) ? listed : ''
      const isMore = isRepeatable(usage) ? '*' : ''
      return quoted(`${isMore}${flagName(usage)}[${escaped(meaning)}]${value}`)
    })
    const first = words.length > 0 ? [quoted(`1:word:(${words.join(' ')})`)] : []
    const file = needsFile(command) ? [quoted('*:file:_files')] : []
    const all = [...specs, quoted('--help[Show the help]'), ...first, ...file]
    return `    ${command.name}) _arguments ${all.join(' ')} ;;`
  })
  const described = commands.map(({ name, summary }) => quoted(`${name}:${escaped(summary)}`))
  return [
    '#compdef svc-node',
    `# Completion of svc-node for zsh: svc-node completion zsh > "\${fpath[1]}/_svc-node"`,
    '_svc_node() {',
    '  local -a commands',
    `  commands=(${described.join(' ')})`,
    '  if (( CURRENT == 2 )); then',
    "    _describe 'command' commands",
    "    _arguments '--help[Show the help]' '--version[Print the version]'",
    '    return',
    '  fi',
    `  local command="\${words[2]}"`,
    '  shift words',
    '  (( CURRENT-- ))',
    '  case "$command" in',
    ...cases,
    '  esac',
    '}',
    // The file may be sourced, or found in fpath. In fpath its first call must already complete.
    'if [ "$funcstack[1]" = "_svc-node" ]; then _svc_node "$@"; else compdef _svc_node svc-node; fi',
  ]
}

function fishScript(commands: Commands): readonly string[] {
  const lines = commands.flatMap((command) => {
    const { name, summary, flags, words = [] } = command
    const within = `-n ${quoted(`__fish_seen_subcommand_from ${name}`)}`
    return [
      `complete -c svc-node -n __fish_use_subcommand -a ${name} -d ${quoted(summary)}`,
      ...flags.map(([usage, meaning, values]) => {
        const listed = values === undefined ? ' -x' : ` -x -a ${quoted(values.join(' '))}`
        const value = takesFile(usage) ? ' -r -F' : takesValue(usage) ? listed : ''
        return `complete -c svc-node ${within} -l ${flagName(usage).slice(2)}${value} -d ${quoted(meaning)}`
      }),
      ...words.map((word) => `complete -c svc-node ${within} -a ${word}`),
      ...(needsFile(command) ? [`complete -c svc-node ${within} -F`] : []),
    ]
  })
  return [
    '# Completion of svc-node for fish: svc-node completion fish > ~/.config/fish/completions/svc-node.fish',
    'complete -c svc-node -f',
    "complete -c svc-node -n __fish_use_subcommand -l version -d 'Print the version'",
    "complete -c svc-node -l help -d 'Show the help'",
    ...lines,
  ]
}
