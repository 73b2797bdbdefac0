import type { Pod } from '../../api/types.ts';
import { configAnnotations } from '../../api/values/config-annotations.ts';
import type { ReplicatedWorkload } from '../../api/values/workload.ts';
import type { KeptRevision } from '../operations/compute-revision.ts';
import { podUIDHash } from '../config/load-manifest.ts';
import { revisionName } from '../operations/pod-record.ts';
import type { WorkloadRecord } from './records/workload-record.ts';

const restartedAtAnnotation = 'kubectl.kubernetes.io/restartedAt';

/** Returns the workload with what operators requested. Returns the same object if nothing is. */
export function effectiveWorkload(declared: ReplicatedWorkload, record: WorkloadRecord): ReplicatedWorkload {
  const { scale, undo, isPaused = false, restartedAt } = record;
  const template = restarted(undo?.template ?? declared.template, restartedAt);
  if (scale === undefined && !isPaused && template === declared.template) return declared;
  const replicas = scale?.replicas ?? declared.replicas;
  return { ...declared, replicas, isPaused: isPaused || declared.isPaused, template };
}

/** Returns the record without requests that a changed manifest ended. Returns the same record if there are none. */
export function withoutEnded(declared: ReplicatedWorkload, record: WorkloadRecord): WorkloadRecord {
  const { scale, undo, ...rest } = record;
  const keepsScale = scale?.whileDeclared === declared.replicas;
  const keepsUndo = undo === undefined || undo.whileDeclared === revisionName(declared.template);
  if ((scale === undefined || keepsScale) && keepsUndo) return record;
  return { ...rest, ...(keepsScale && { scale }), ...(keepsUndo && undo && { undo }) };
}

/** Why a pod of the workload keeps its earlier revision. */
export function keepsRevision({ kind, name, isPaused, update }: ReplicatedWorkload): KeptRevision {
  if (isPaused) return { reason: 'RollOut', message: `the rollout of ${kind} ${name} is paused` };
  return update.type === 'OnDelete'
    ? { reason: 'OnDelete', message: `${kind} ${name} updates a pod when it is restarted` }
    : { reason: 'RollOut', message: `waits for its turn in the rollout of ${kind} ${name}` };
}

/** The template of a rollout that replaces every pod once, as `kubectl rollout restart` does. */
function restarted(template: Pod, restartedAt: string | undefined): Pod {
  if (restartedAt === undefined) return template;
  const { metadata } = template;
  const uid = podUIDHash(`${metadata.uid} ${restartedAt}`);
  const annotations = { ...metadata.annotations, [restartedAtAnnotation]: restartedAt, [configAnnotations.hash]: uid };
  return { ...template, metadata: { ...metadata, uid, annotations } };
}
