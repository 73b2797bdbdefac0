import type { Command } from 'commander';
import type { PodName } from '../api/values/pod-names.ts';
import { UserError } from '../errors.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import { type AgentSocket, fetchRevisions } from '../server/control/control-client.ts';
import { controlSocketPath } from '../server/control/socket-paths.ts';
import type { CommandDeps } from './io/deps.ts';
import { patientSocket } from './io/patient-socket.ts';
import { podsOfAgent } from './pod/pods-of-agent.ts';

interface HistoryFlags {
  rootDir: string;
  namespace?: string;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('history'))
    .description('List the revisions of a pod')
    .argument('<pod>', 'name, name-node or namespace/name')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .addHelpText('after', '\nThe last ten are kept. * marks the running one.\n\nExample:\n  kubelet-ts history web')
    .action(async (name: string, flags: HistoryFlags) => {
      const socket = patientSocket(controlSocketPath(flags.rootDir), deps.stderr);
      const [pod] = await podsOfAgent(flags.rootDir, [name], flags, deps.stderr);
      if (pod !== undefined) await printHistory(pod, socket, deps);
    });
}

/** Prints the revisions of a pod as a table. */
export async function printHistory(pod: PodName, socket: AgentSocket, { stdout }: CommandDeps): Promise<void> {
  const revisions = await fetchRevisions(socket, pod);
  if (revisions === undefined) throw new UserError('kubelet-ts exited');
  const { formatTable } = await import('../text/format-table.ts');
  const rows = revisions.map(({ revision, takenAt, wasReady, isCurrent, from, images }, index) => [
    `${revision}${isCurrent ? '*' : ''}`,
    new Date(takenAt).toISOString(),
    wasReady ? 'yes' : 'no',
    imageChanges(images, revisions[index - 1]?.images),
    from,
  ]);
  stdout.write(await formatTable([['REVISION', 'APPLIED', 'READY', 'IMAGES', 'SOURCE'], ...rows]));
}

/** The images that changed since the previous revision; all images of the first one. */
function imageChanges(images: Readonly<Record<string, string>>, before: Readonly<Record<string, string>> = {}): string {
  const changed = Object.entries(images).filter(([container, image]) => before[container] !== image);
  return changed.map(([container, image]) => `${container}=${image}`).join(',') || '<same>';
}
