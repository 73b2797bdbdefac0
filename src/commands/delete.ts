import type { Command } from 'commander';
import type { Pod } from '../api/types.ts';
import { type AppliedObject, appliedObject, kindMeant, resourceName } from '../engine/applied/applied-object.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions, collect } from '../node/options/flags.ts';
import { fetchSnapshot } from '../server/control/control-client.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import { visible } from '../visible-text.ts';
import { appliedTarget } from './applied/applied-target.ts';
import { objectsOfFiles } from './applied/objects-of-files.ts';
import { dryRunOption, isDryRun } from './apply.ts';
import type { CommandDeps } from './io/deps.ts';
import { addWaitOptions } from './operate.ts';
import { isEnding, untilEnded } from './pod/until-ended.ts';

interface DeleteFlags {
  rootDir: string;
  filename?: string[];
  namespace?: string;
  dryRun: string;
  wait: 'true' | 'false';
  timeout?: number;
  hostnameOverride?: string;
}

export function register(program: Command, deps: CommandDeps): void {
  const command = addRuntimeOptions(program.command('delete'))
    .description('Remove applied objects, and end their pods')
    .argument('[objects...]', 'pods, as NAME or NAMESPACE/NAME, and other objects, as KIND/NAME or KIND/NAMESPACE/NAME')
    .option('-f, --filename <path>', 'file or folder whose objects are removed, - for stdin; repeatable', collect)
    .option('-n, --namespace <namespace>', 'namespace of the objects (default: default)')
    .addOption(dryRunOption())
    .option('--hostname-override <name>', 'node name without a running agent, in place of the host name')
    .addHelpText('after', help)
    .action(async (names: string[], flags: DeleteFlags) => {
      await remove(names, flags, deps);
    });
  addWaitOptions(command);
}

/** Each object is removed by itself. A failure of one leaves the next ones as asked. */
async function remove(names: readonly string[], flags: DeleteFlags, deps: CommandDeps): Promise<void> {
  const { filename: paths = [], namespace } = flags;
  const dryRun = isDryRun(flags.dryRun);
  const named = objectsNamed(names, namespace);
  if (named.length + paths.length === 0)
    throw new UserError('nothing to delete was named', { hint: 'Name a pod, an object as KIND/NAME, or -f FILE.' });
  const target = await appliedTarget({ ...flags, dryRun });
  const { nodeName } = target;
  const socket = controlSocketPath(flags.rootDir);
  const consequence = 'nothing was deleted';
  const inFiles = paths.length === 0 ? [] : await objectsOfFiles({ paths, nodeName, namespace, consequence }, deps);
  const before =
    target.hasAgent && !dryRun && flags.wait === 'true' ? await appliedPods(socket) : new Map<string, string>();
  for (const object of [...named, ...inFiles]) {
    try {
      const { kind, name } = await target.delete(object);
      deps.stdout.write(`${resourceName(kind)} "${visible(name)}" deleted${dryRun ? ' (dry run)' : ''}\n`);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      deps.stderr.write(`error: ${visible(error.message)}\n`);
      if (error.hint !== undefined) deps.stderr.write(`hint: ${visible(error.hint)}\n`);
      deps.setExitCode(1);
    }
  }
  const hint = 'They are deleted, and end by themselves. kubelet-ts ps shows their state.';
  const meant = [...before].map(([uid, name]) => ({ name, isPod: ({ metadata }: Pod) => metadata.uid === uid }));
  if (meant.length > 0) await untilEnded(meant, socket, { timeoutMs: flags.timeout, hint });
}

/** Names of the pods of applied manifests that run, by UID. */
async function appliedPods(socket: string): Promise<Map<string, string>> {
  const { pods = [] } = (await fetchSnapshot(socket)) ?? {};
  const running = pods.filter((pod) => pod.source === 'applied' && !isEnding(pod));
  return new Map(running.map(({ pod: { metadata } }) => [metadata.uid, metadata.name]));
}

/** The objects that words name: `web`, `pod/web`, `pod web db`, `deployment/web`, `namespace/web`. */
export function objectsNamed(words: readonly string[], namespace = 'default'): AppliedObject[] {
  const [first = '', ...others] = words;
  const kind = kindMeant(first);
  if (kind !== undefined && others.length > 0) return others.map((word) => objectNamed(`${kind}/${word}`, namespace));
  return words.map((word) => objectNamed(word, namespace));
}

function objectNamed(word: string, namespace: string): AppliedObject {
  const parts = word.split('/');
  const kind = parts.length > 1 ? kindMeant(parts[0] ?? '') : undefined;
  if (kind !== undefined) parts.shift();
  const [name = '', of = namespace] = parts.toReversed();
  if (parts.length <= 2 && name !== '' && of !== '') return appliedObject(kind ?? 'Pod', of, name);
  throw new UserError(`"${word}" names no object`, {
    hint: 'Name it as NAME, NAMESPACE/NAME, KIND/NAME or KIND/NAMESPACE/NAME.',
  });
}

const help = `
Only what kubelet-ts apply added can be deleted. A pod that a file or URL declares is removed there.

Examples:
  kubelet-ts delete web
  kubelet-ts delete deployment/web configmap/settings
  kubelet-ts delete -f web.yaml`;
