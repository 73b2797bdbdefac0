import type { CommandDeps } from '../io/deps.ts';
import { listObjects, type ResolvedObjects } from '../get-objects.ts';
import { agentSnapshot } from '../pod/agent-snapshot.ts';
import { noneDeclared } from '../objects/none-declared.ts';
import { listWorkloads } from '../workload/list-workloads.ts';
import { describeServices, describeWorkloads } from './describe-objects.ts';

interface Flags {
  rootDir: string;
  namespace?: string;
  output?: 'json' | 'yaml';
}

/**
 * Describes objects other than pods. Resolves with false if there are no such workloads, because the words may name a
 * pod: a namespace may have the name of a kind.
 */
export async function describeOthers(objects: ResolvedObjects, flags: Flags, deps: CommandDeps): Promise<boolean> {
  const { kinds, workloads, names } = objects;
  const { output, rootDir } = flags;
  if (workloads.length > 0 && output !== undefined) {
    await listWorkloads({ kinds: workloads, names }, { ...flags, output, headers: true, isAll: false }, deps);
    return true;
  }
  const hasText = output === undefined && kinds.every((kind) => kind === 'Service');
  if (!hasText && workloads.length === 0) {
    await listObjects(objects, { ...flags, output: 'wide', headers: true }, deps);
    await listObjects(objects, { ...flags, output: output ?? 'yaml', headers: true }, deps);
    return true;
  }
  const consequence = 'the state of workloads is as it was recorded last';
  const snapshot = await agentSnapshot(rootDir, deps.stderr, consequence);
  const texts = [
    ...(workloads.length > 0 ? await describeWorkloads(objects, snapshot, flags, Date.now()) : []),
    ...(hasText && kinds.length > 0 ? await describeServices(objects, snapshot, flags, Date.now()) : []),
  ];
  if (texts.length > 0) deps.stdout.write(texts.join('\n\n'));
  // Prints why nothing was found.
  else if (workloads.length === 0) await listObjects(objects, { ...flags, output: 'wide', headers: true }, deps);
  else if (names.length > 0) return false;
  else deps.stderr.write(await noneDeclared(workloads, rootDir, snapshot !== undefined));
  return true;
}
