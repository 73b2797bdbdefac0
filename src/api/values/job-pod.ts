import type { Container, Pod } from '../types.ts';
import { configAnnotations } from './config-annotations.ts';
import type { DeclaredCronJob, DeclaredJob } from './job.ts';

/** Returns the UID for a text. */
export type UIDHash = (text: string) => string;

/** One of the pods of a Job. */
export interface JobPodId {
  /** Its index, even if the Job is not indexed. */
  slot: number;
  /** Counts the pods of the slot, from 0. */
  attempt: number;
}

const jobNameKey = 'batch.kubernetes.io/job-name';
const indexKey = 'batch.kubernetes.io/job-completion-index';
const indexVariable = 'JOB_COMPLETION_INDEX';

/** Returns the UID of a pod of a Job. The first one has that of its manifest, as if it were declared itself. */
export function jobPodUID({ template }: DeclaredJob, { slot, attempt }: JobPodId, hash: UIDHash): string {
  const { uid } = template.metadata;
  return slot === 0 && attempt === 0 ? uid : hash(`${uid}/${slot}/${attempt}`);
}

/**
 * Returns the name of a pod without that of the node: `pi`, `pi-1` and so on. As with a Deployment, a changed count
 * renames no pod.
 */
export function jobPodName({ name }: DeclaredJob, slot: number): string {
  return slot === 0 ? name : `${name}-${slot}`;
}

/**
 * Returns a pod of a Job. All attempts of a slot have the same name, so that each replaces the one before it.
 * kubelet: pkg/controller/job/indexed_job_utils.go addCompletionIndexEnvVariables
 */
export function jobPod(job: DeclaredJob, id: JobPodId, hash: UIDHash): Pod {
  const { metadata, spec } = job.template;
  const uid = jobPodUID(job, id, hash);
  const { isIndexed } = job.rules;
  const index = isIndexed ? { [indexKey]: `${id.slot}` } : {};
  return {
    ...job.template,
    metadata: {
      ...metadata,
      uid,
      name: renamed(job, jobPodName(job, id.slot)),
      labels: { ...metadata.labels, [jobNameKey]: job.name, 'job-name': job.name, ...index },
      annotations: { ...metadata.annotations, ...index, [configAnnotations.hash]: uid },
    },
    spec: isIndexed
      ? {
          ...spec,
          hostname: spec.hostname ?? `${job.name}-${id.slot}`,
          containers: spec.containers.map(withIndexVariable),
          ...(spec.initContainers && { initContainers: spec.initContainers.map(withIndexVariable) }),
        }
      : spec,
  };
}

/** True for a pod of a Job. If it fails, the Job decides whether another one follows. */
export const isJobPod = ({ metadata }: Pod): boolean => metadata.labels?.[jobNameKey] !== undefined;

/** Returns the Job of one run of a CronJob. Kubernetes names it by the minute of its schedule too. */
export function cronRun(cron: DeclaredCronJob, scheduledAt: number, hash: UIDHash): DeclaredJob {
  const minute = Math.floor(scheduledAt / 60_000);
  return runNamed(cron, `${minute}`, hash);
}

/** How long a run that an operator requested remains at least, so that the command that waits for it has its result. */
export const minManualTTLSeconds = 60;

/** Returns the Job of a run that an operator requested in this second. Its name is as long as that of other runs. */
export function manualRun(cron: DeclaredCronJob, requestedAt: number, hash: UIDHash): DeclaredJob {
  const run = runNamed(cron, `run-${Math.floor(requestedAt / 1000).toString(36)}`, hash);
  const { ttlSecondsAfterFinished: ttl } = run.rules;
  if (ttl === undefined) return run;
  return { ...run, rules: { ...run.rules, ttlSecondsAfterFinished: Math.max(ttl, minManualTTLSeconds) } };
}

/** Returns a run of the CronJob with the name that the node has now. Returns the same object if that is unchanged. */
export function runOnNode(run: DeclaredJob, cron: DeclaredCronJob): DeclaredJob {
  const { metadata, spec } = run.template;
  const { nodeName } = cron.template.spec;
  if (spec.nodeName === nodeName || nodeName === undefined) return run;
  const template = { ...run.template, metadata: { ...metadata, name: renamed(cron, run.name) } };
  return { ...run, template: { ...template, spec: { ...spec, nodeName } } };
}

function runNamed(cron: DeclaredCronJob, suffix: string, hash: UIDHash): DeclaredJob {
  const { metadata } = cron.template;
  const name = `${cron.name}-${suffix}`;
  const uid = hash(`${metadata.uid}/${suffix}`);
  const template = { ...cron.template, metadata: { ...metadata, uid, name: renamed(cron, name) } };
  return { kind: 'Job', namespace: cron.namespace, name, rules: cron.rules, template };
}

/** A pod's name ends with that of its node. */
function renamed({ name, template }: DeclaredJob | DeclaredCronJob, to: string): string {
  return `${to}${template.metadata.name.slice(name.length)}`;
}

function withIndexVariable(container: Container): Container {
  const { env = [] } = container;
  if (env.some(({ name }) => name === indexVariable)) return container;
  const fieldPath = `metadata.annotations['${indexKey}']`;
  return {
    ...container,
    env: [...env, { name: indexVariable, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } }],
  };
}
