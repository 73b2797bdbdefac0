import { type Command, Option } from 'commander';
import { readFileSync } from 'node:fs';
import type { ManifestProblem } from '../api/manifest-problem.ts';
import type { SourceUpdate } from '../engine/config/pod-source.ts';
import type { CommandDeps } from './deps.ts';
import { heldObjects, listText } from './held-objects.ts';
import { isColoured } from './is-coloured.ts';
import { addNodeOptions } from './node-flags.ts';
import { type NodeFlags, nodeOptions } from './node-options.ts';
import { problemReport } from './problem-report.ts';
import { brokenManifestExitCode, readManifests, readStdin, stdinOrigin } from './read-manifests.ts';
import { inFileOrder, validationJSON, validationSummary } from './validation-report.ts';

interface ValidateFlags extends NodeFlags {
  output: 'text' | 'json';
  defaulted: boolean;
  strict: boolean;
}

export function registerValidate(program: Command, deps: CommandDeps): void {
  addNodeOptions(program.command('validate'))
    .description('Say everything that is wrong with manifests, without running them')
    .argument('<manifests...>', 'files or folders of manifests, - for stdin')
    .addOption(new Option('-o, --output <format>', 'form of the report').choices(['text', 'json']).default('text'))
    .option('--defaulted', 'print the pods as they would be held: defaulted and named for this node', false)
    .option('--strict', 'warnings are errors', false)
    .addHelpText('after', help)
    .action(async (manifests: string[], flags: ValidateFlags) => {
      await validate(manifests, flags, deps);
    });
}

async function validate(manifests: readonly string[], flags: ValidateFlags, deps: CommandDeps): Promise<void> {
  const { nodeName, featureGates } = await nodeOptions(flags, manifests);
  const stdin = manifests.includes('-') ? await readStdin(deps.stdin) : undefined;
  const update = await readManifests({ manifests, nodeName, featureGates, stdin });
  const problems = inFileOrder(flags.strict ? update.problems.map(asError) : update.problems);
  const checked = { ...update, problems };
  if (problems.some(({ severity }) => severity === 'error')) deps.setExitCode(brokenManifestExitCode);
  if (flags.output === 'json' && !flags.defaulted) {
    deps.stdout.write(`${JSON.stringify(validationJSON(checked), undefined, 2)}\n`);
    return;
  }
  // What is printed for another program to read comes alone.
  const report = flags.defaulted ? deps.stderr : deps.stdout;
  report.write(reportText(checked, stdin, !flags.defaulted && isColoured(deps.stdout)));
  if (flags.defaulted) deps.stdout.write(await listText(heldObjects(checked), flags.output));
}

const asError = (problem: ManifestProblem): ManifestProblem => ({ ...problem, severity: 'error' });

function reportText(update: SourceUpdate, stdin: Uint8Array | undefined, coloured: boolean): string {
  const textOf = (origin: string): string | undefined =>
    origin === stdinOrigin ? stdin && Buffer.from(stdin).toString() : fileText(origin);
  const folder = process.cwd();
  const reports = update.problems.map((problem) => problemReport(problem, { textOf, folder, isColoured: coloured }));
  return [...reports, `${validationSummary(update)}\n`].join('');
}

/** The file as it is now, to show a line of it; undefined when it has gone meanwhile. */
function fileText(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

const help = `
Folders are read as kubelet-ts run reads them, and every flag of a node means the same. No runtime and no root is needed.
Values of Secrets are never printed. Exit codes: 0 nothing is wrong, or warnings alone; 2 errors.

Examples:
  kubelet-ts validate pods/                 every problem with file, line, field and what to do
  kubelet-ts validate --strict -o json -    from stdin, for a program, warnings are errors
  kubelet-ts validate --defaulted web.yaml  the pod with all defaults, as YAML`;
