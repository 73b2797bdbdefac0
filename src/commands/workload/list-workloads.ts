import { ageText } from '../../api/values/pod-printer.ts';
import { humanDuration } from '../../api/values/duration.ts';
import { isReplicatedKind, workloadKey } from '../../api/values/workload.ts';
import { cronJobTable, jobsOf, jobTable, reasonColumn, type ShownJob } from './job-tables.ts';
import { appliedName } from '../../engine/applied/applied-object.ts';
import type { EngineSnapshot, WorkloadSnapshot } from '../../engine/view/snapshot.ts';
import { errorMessage } from '../../errors.ts';
import { formatTable } from '../../text/format-table.ts';
import { visible } from '../../text/visible-text.ts';
import type { CommandDeps } from '../io/deps.ts';
import { objectsFormat } from '../output/objects-format.ts';
import { agentSnapshot } from '../pod/agent-snapshot.ts';
import { lastNodeName } from '../objects/last-node-name.ts';
import { noneDeclared } from '../objects/none-declared.ts';
import { notFound } from '../objects/not-found.ts';
import { type ListedWorkload, recordedWorkloads } from './recorded-workloads.ts';
import { shownCronJob, shownJob, shownReplicated } from './shown-workloads.ts';
import { type WrittenWorkloads, writtenWorkloads } from './written-workloads.ts';

interface ListFlags {
  rootDir: string;
  namespace?: string;
  output: string;
  headers: boolean;
  /** True if pods are listed too, so that no line says that there are no workloads. */
  isAll: boolean;
}

/**
 * Prints the declared workloads of these kinds with the columns of kubectl. Without an agent, prints those that the
 * manifests on disk declare.
 */
export async function listWorkloads(
  { kinds, names }: { kinds: readonly WorkloadSnapshot['kind'][]; names: readonly string[] },
  flags: ListFlags,
  deps: CommandDeps,
): Promise<void> {
  const { rootDir, namespace, isAll } = flags;
  const { stdout, stderr } = deps;
  const snapshot = await readSnapshot(rootDir, deps);
  const all = snapshot ? (snapshot.workloads ?? []) : await recordedWorkloads(rootDir, await lastNodeName(rootDir));
  const isNamed = (one: { namespace: string; name: string }): boolean =>
    (names.length === 0 || names.includes(one.name)) && (namespace === undefined || one.namespace === namespace);
  const found = all.filter((one) => kinds.includes(one.kind) && isNamed(one));
  const listed: Listed = {
    replicated: found.filter(({ kind }) => isReplicatedKind(kind)),
    cronJobs: found.filter(({ kind }) => kind === 'CronJob'),
    jobs: kinds.includes('Job') ? jobsOf(all, snapshot !== undefined).filter(isNamed) : [],
  };
  const objects = [...listed.replicated, ...listed.cronJobs, ...listed.jobs];
  const missing = names.find((name) => !objects.some((one) => one.name === name));
  if (missing !== undefined && !isAll) throw notFound({ kind: kinds[0] ?? 'Deployment', name: missing }, all);
  if (objects.length > 0) stdout.write(await workloadsText(listed, snapshot, flags, names.length === 1, deps));
  else if (!isAll) stderr.write(await noneDeclared(kinds, rootDir, snapshot !== undefined));
}

/** An agent that has just started would list too few, so this waits until it has read all manifests. */
async function readSnapshot(rootDir: string, { stderr }: CommandDeps): Promise<EngineSnapshot | undefined> {
  const consequence = 'the state of workloads is as it was recorded last';
  const begun = await agentSnapshot(rootDir, stderr, consequence);
  const isRead = begun?.sources.every(({ ready }) => ready) ?? true;
  return isRead ? begun : agentSnapshot(rootDir, stderr, consequence, { settled: true });
}

interface Listed {
  replicated: readonly ListedWorkload[];
  cronJobs: readonly ListedWorkload[];
  jobs: readonly ShownJob[];
}

async function workloadsText(
  listed: Listed,
  snapshot: EngineSnapshot | undefined,
  { output, headers, rootDir }: ListFlags,
  isSingle: boolean,
  { stderr }: CommandDeps,
): Promise<string> {
  const { replicated, cronJobs, jobs } = listed;
  switch (output) {
    case 'name': {
      const named = [...replicated, ...cronJobs, ...jobs.map((job) => ({ ...job, kind: 'Job' as const }))];
      return named.map((one) => `${visible(appliedName(one))}\n`).join('');
    }
    case 'table':
    case 'wide': {
      const now = Date.now();
      // Control-group members may not read them; then the ages are unknown.
      const isAgeless = replicated.some(({ pods }) => pods.length === 0);
      const saved = isAgeless ? await writtenWorkloads(rootDir).catch(() => nothingWritten) : nothingWritten;
      const tables = [
        ...(replicated.length > 0
          ? [replicatedTable(replicated, { snapshot, saved }, { hasHeader: headers, now })]
          : []),
        ...(cronJobs.length > 0 ? [cronJobTable(cronJobs, headers, now)] : []),
        ...(jobs.length > 0 ? [jobTable(jobs, headers, now)] : []),
      ];
      return (await Promise.all(tables)).join('');
    }
    default: {
      const format = await objectsFormat(output);
      const written = await writtenWorkloads(rootDir).catch((error: unknown) => {
        stderr.write(visible(`warning: the specs of workloads are left out: ${errorMessage(error)}`) + '\n');
        return nothingWritten;
      });
      const items = [
        ...replicated.map((one) => shownReplicated(one, written.get(workloadKey(one))?.written)),
        ...cronJobs.map((one) => shownCronJob(one, written.get(workloadKey(one))?.written)),
        ...jobs.map((one) => shownJob(one, written.get(workloadKey(one.owner))?.written)),
      ];
      return format(items, { isSingle, headers });
    }
  }
}

const nothingWritten: WrittenWorkloads = new Map();

/** What tells the age of a workload. */
interface Known {
  /** Undefined without an agent. */
  snapshot: EngineSnapshot | undefined;
  saved: WrittenWorkloads;
}

function replicatedTable(
  found: readonly ListedWorkload[],
  known: Known,
  { hasHeader, now }: { hasHeader: boolean; now: number },
): Promise<string> {
  const { header: reason, cells } = reasonColumn(found);
  const rows = found.map((one, index) => [
    visible(one.namespace),
    visible(appliedName(one)),
    `${countText(one.ready)}/${one.desired}`,
    countText(one.updated),
    countText(one.available),
    ageOf(one, known, now),
    ...(cells[index] ?? []),
  ]);
  const header = ['NAMESPACE', 'NAME', 'READY', 'UP-TO-DATE', 'AVAILABLE', 'AGE', ...reason];
  return formatTable([...(hasHeader ? [header] : []), ...rows]);
}

const countText = (count: number | undefined): string => (count === undefined ? '<unknown>' : String(count));

/** The age of its oldest pod, or of its manifest if it has none. */
function ageOf(workload: ListedWorkload, { snapshot, saved }: Known, now: number): string {
  const { namespace, pods } = workload;
  const own = (snapshot?.pods ?? [])
    .map(({ pod }) => pod)
    .filter(
      ({ metadata, status }) =>
        metadata.namespace === namespace && pods.includes(metadata.name) && status?.startTime !== undefined,
    );
  const [oldest] = own.toSorted((a, b) => ((a.status?.startTime ?? '') < (b.status?.startTime ?? '') ? -1 : 1));
  if (oldest !== undefined) return ageText(oldest, now);
  const { savedAt } = saved.get(workloadKey(workload)) ?? {};
  return savedAt === undefined ? '<unknown>' : humanDuration(now - savedAt);
}
