import type { Pod } from '../../api/types.ts';
import { manifestFinding, problemEvidence } from '../../engine/explain/explain-node.ts';
import { explainPod } from '../../engine/explain/explain-pod.ts';
import type { Evidence, Explanation, Stage } from '../../engine/explain/explanation.ts';
import { type Subject, type Part, partsOf } from '../../engine/explain/subject.ts';
import type { EngineSnapshot } from '../../engine/view/snapshot.ts';
import { findPod, type FoundPod } from '../describe/find-pod.ts';
import type { CommandDeps } from '../io/deps.ts';
import { agentSnapshot } from '../pod/agent-snapshot.ts';
import type { PodFlags } from '../pod/open-pod.ts';
import { parseReference } from '../objects/pod-reference.ts';
import { resolvePods } from '../pod/resolve-pods.ts';
import { type DeclaringObject, findDeclaringObject, isWithin } from '../objects/declaring-object.ts';
import { namesOf, refusedManifest } from '../objects/refused-manifest.ts';
import { runtimeContainerID } from '../../api/values/container-statuses.ts';
import { withRuntime } from '../../node/with-runtime.ts';
import { lastLines } from '../pod/last-lines.ts';

const exitStages: readonly Stage[] = ['back-off', 'finished'];
const runStages: readonly Stage[] = ['start', 'probe'];

/** The position of the faulty field. Lines and columns count from 1. */
export interface ManifestPosition {
  file: string;
  line: number;
  column: number;
}

/** An explanation, the position of its fault in a manifest, and the warnings about the object that declares the pod. */
export type LocatedExplanation = Explanation & { place?: ManifestPosition; text?: string; warnings?: Evidence[] };

/** Explains a pod that the agent, the runtime, the history or a broken manifest names. Rejects for an unknown name. */
export async function explainedPod(deps: CommandDeps, reference: string, flags: PodFlags): Promise<LocatedExplanation> {
  const snapshot = await agentSnapshot(flags.rootDir, deps.stderr);
  const undeclared = snapshot && (await explainUndeclared(snapshot, reference, flags));
  if (undeclared) return undeclared;
  const found = await findPod(deps, reference, flags, snapshot);
  const subject = subjectOf(found, snapshot);
  if (subject === undefined) return explainRemoved(found);
  const first = explainPod(subject);
  const tail = await logTail(deps, flags, subject.pod, first);
  const explanation = tail === undefined ? first : explainPod({ ...subject, logTails: tail });
  if (snapshot === undefined) return explanation;
  return withPosition(explanation, subject.pod, snapshot);
}

/** The revision that is declared now, or else the last one that is stopping. */
function subjectOf(found: FoundPod, snapshot: EngineSnapshot | undefined): Subject | undefined {
  const revision = found.pods.find(({ replacedBy }) => replacedBy === undefined) ?? found.pods.at(-1);
  if (revision === undefined) return undefined;
  const known = snapshot?.pods.find(({ pod }) => pod.metadata.uid === revision.pod.metadata.uid);
  return { ...revision, ...known, history: found.history, ...(snapshot && { node: snapshot }) };
}

/** A pod that no manifest declares, because its manifest has an error. Returns undefined for every other pod. */
async function explainUndeclared(
  snapshot: EngineSnapshot,
  pod: string,
  { namespace }: PodFlags,
): Promise<Explanation | undefined> {
  const { nodeName } = snapshot;
  if (resolvePods(snapshot.pods, { pod, namespace, nodeName }, (one) => one.pod.metadata).length > 0) return undefined;
  const problems = await refusedManifest(snapshot, { pod, namespace });
  const [first] = problems;
  if (first === undefined) return undefined;
  const wanted = parseReference({ pod, namespace });
  const finding = manifestFinding(first, problems, 'Its manifest has an error, so the pod does not run.');
  return { namespace: wanted.namespace ?? 'default', name: wanted.name, ...finding };
}

function explainRemoved({ namespace, name, history }: FoundPod): Explanation {
  const last = history.findLast((entry) => entry.kind === 'event');
  return {
    namespace,
    name,
    stage: 'finished',
    cause: 'no manifest declares it any more',
    evidence: last === undefined ? [] : [{ from: `event ${last.reason}`, at: last.lastAt, text: last.message }],
    fixes: ['Put its manifest back to run it again.', `Read its past: kubelet-ts describe ${namespace}/${name}`],
  };
}

/**
 * Adds the position of the faulty field, and the warnings. Warnings are not evidence: the pod may run well with them.
 */
async function withPosition(explanation: Explanation, pod: Pod, snapshot: EngineSnapshot): Promise<LocatedExplanation> {
  const { namespace, name } = pod.metadata;
  const names = namesOf(name, snapshot.nodeName);
  const declaring = await findDeclaringObject(snapshot.sources, { namespace, names });
  if (declaring === undefined || explanation.stage === 'manifest') return explanation;
  const { file, object, text } = declaring;
  const warnings = snapshot.sources
    .flatMap((source) => source.problems)
    .filter(({ severity, origin }) => severity === 'warning' && origin === file)
    .filter(({ line }) => line === undefined || isWithin(object, line))
    .slice(0, maxWarnings)
    .map(problemEvidence);
  return { ...explanation, ...positionOf(explanation, declaring), text, ...(warnings.length > 0 && { warnings }) };
}

const maxWarnings = 5;

function positionOf(
  { field, stage }: Explanation,
  { file, object, prefix }: DeclaringObject,
): { place?: ManifestPosition } {
  if (field === undefined || stage === 'running') return {};
  const isOfPod = field.startsWith('metadata.') && prefix !== '';
  const path = [object.path, isOfPod ? field : `${prefix}${field}`].filter((part) => part !== '').join('.');
  return { place: { file, ...object.document.positionOf(path) } };
}

/**
 * The last lines of the container that an explanation is about, by its name. Resolves with undefined if its output
 * cannot be the cause, or if its log cannot be read.
 */
async function logTail(
  deps: CommandDeps,
  flags: PodFlags,
  pod: Pod,
  { stage, container: name }: Explanation,
): Promise<Record<string, string> | undefined> {
  const part = partsOf(pod).find(({ container }) => container.name === name);
  const containerId = runtimeContainerID(part && explainingID(stage, part));
  if (name === undefined || containerId === '') return undefined;
  try {
    return await withRuntime(deps.connect(flags), async ({ runtime }) => {
      const { status } = await runtime.containerStatus({ containerId });
      return { [name]: await lastLines(status?.logPath ?? '') };
    });
  } catch {
    // The explanation is as good without it: a fix names the command that prints the log.
    return undefined;
  }
}

/** The id of the instance whose output may explain this stage. */
function explainingID(stage: Stage, { status }: Part): string | undefined {
  const { state, lastState } = status ?? {};
  if (exitStages.includes(stage)) return (state?.terminated ?? lastState?.terminated)?.containerID;
  return runStages.includes(stage) && state?.running ? status?.containerID : undefined;
}
