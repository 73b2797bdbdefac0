import { type Command, Option } from 'commander';
import { checkDNS1123Label } from '../api/values/names.ts';
import { appliedName } from '../engine/applied/applied-object.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions, collect } from '../node/options/flags.ts';
import { visible } from '../text/visible-text.ts';
import { appliedTarget } from './applied/applied-target.ts';
import { objectsOfFiles } from './applied/objects-of-files.ts';
import type { CommandDeps } from './io/deps.ts';

interface ApplyFlags {
  rootDir: string;
  filename?: string[];
  kustomize?: string[];
  namespace?: string;
  dryRun: string;
  hostnameOverride?: string;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('apply'))
    .description('Apply manifests; their pods also start when the machine boots')
    .argument('[manifests...]', 'files or folders of manifests, - for stdin')
    .option('-f, --filename <path>', 'file or folder of manifests, as an argument; repeatable', collect)
    .option('-k, --kustomize <folder>', 'build this folder with kustomize, and apply the result (repeatable)', collect)
    .option('-n, --namespace <namespace>', 'namespace of objects that name none (default: default)')
    .addOption(dryRunOption())
    .option('--hostname-override <name>', 'node name to use if no agent runs (default: the host name)')
    .addHelpText('after', help)
    .action(async (manifests: string[], flags: ApplyFlags) => {
      await apply(manifests, flags, deps);
    });
}

/** As in kubectl: `--dry-run`, `--dry-run=client` and `--dry-run=server` change nothing. */
export function dryRunOption(): Option {
  const choices = ['none', 'client', 'server'];
  return new Option('--dry-run [mode]', 'report the changes without making them')
    .choices(choices)
    .preset('client')
    .default('none');
}

/** True if nothing may change. */
export const isDryRun = (dryRun: string): boolean => dryRun !== 'none';

async function apply(manifests: readonly string[], flags: ApplyFlags, deps: CommandDeps): Promise<void> {
  const { filename = [], kustomize: kustomizations = [], namespace } = flags;
  const paths = [...manifests, ...filename];
  if (paths.length + kustomizations.length === 0) {
    throw new UserError('no manifest was named', { hint: 'Name files or folders, - for stdin, or -k FOLDER.' });
  }
  const wrong = flags.namespace === undefined ? undefined : checkDNS1123Label(flags.namespace);
  if (wrong !== undefined) throw new UserError(`--namespace "${visible(flags.namespace ?? '')}" ${wrong}`);
  const dryRun = isDryRun(flags.dryRun);
  const target = await appliedTarget({ ...flags, dryRun }, deps.stderr);
  const consequence = 'nothing was applied';
  const objects = await objectsOfFiles(
    { paths, kustomizations, nodeName: target.nodeName, namespace, consequence },
    deps,
  );
  if (objects.length === 0) throw new UserError('the manifests declare nothing to apply');
  const items = objects.map(({ text }) => text).join(',');
  const results = await target.apply(Buffer.from(`{"apiVersion":"v1","kind":"List","items":[${items}]}`));
  for (const { result, ...object } of results)
    deps.stdout.write(`${visible(appliedName(object))} ${result}${dryRun ? ' (dry run)' : ''}\n`);
  for (const object of results) {
    const file = target.declaredBefore(object);
    if (file === undefined) continue;
    const name = visible(appliedName(object));
    deps.stderr.write(`warning: ${visible(file)} declared ${name} too when kubelet-ts last ran\n`);
    deps.stderr.write(`hint: Start the next one without that file, or delete the object: kubelet-ts delete ${name}\n`);
  }
  if (!target.hasAgent && !dryRun) {
    deps.stderr.write('No kubelet-ts runs on this root-dir, so nothing runs yet. Start it: kubelet-ts run\n');
  }
}

const help = `
Objects stay in <root-dir>/applied until kubelet-ts delete removes them. If one document is broken, nothing is applied.
Objects that a file or URL of the node declares are not overwritten. If no agent runs, the next one applies the objects.

Examples:
  kubelet-ts apply web.yaml
  kubelet-ts apply -k overlays/edge
  kubelet-ts apply -f pods/ -f secrets.yaml --dry-run
  kubelet-ts apply -f - < web.yaml`;
