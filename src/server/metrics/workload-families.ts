import type { JobStatus } from '../../engine/view/job-status.ts';
import type { WorkloadStatus } from '../../engine/view/snapshot.ts';
import type { Family, Sample } from './family.ts';

type Labels = Sample['labels'];
type Value = number | undefined;

/** The state of declared workloads under the names of kube-state-metrics 2. Empty families are not shown. */
export function workloadFamilies(workloads: readonly WorkloadStatus[]): Family[] {
  if (workloads.length === 0) return [];
  const jobs = workloads.flatMap(jobsOf);
  return [
    ...replicaFamilies.flatMap(({ kind, families }) =>
      families.map(([name, help, which]) =>
        gauge(
          name,
          help,
          samplesOf(workloads, kind, (one) => replicasOf(one, which)),
        ),
      ),
    ),
    gauge(
      'kube_deployment_status_condition',
      'The current status conditions of a deployment.',
      workloads.filter(({ kind }) => kind === 'Deployment').flatMap(conditionSamples),
    ),
    ...cronFamilies.map(([name, help, value]) => gauge(name, help, samplesOf(workloads, 'CronJob', value))),
    ...jobFamilies.map(([name, help, value]) =>
      gauge(
        name,
        help,
        jobs.flatMap(({ labels, status }) => sample(labels, value(status))),
      ),
    ),
    ...(['complete', 'failed'] as const).map((outcome) =>
      gauge(
        `kube_job_${outcome}`,
        `The job has ${outcome === 'failed' ? 'failed' : 'completed'} its execution.`,
        jobs.flatMap(({ labels, status }) => outcomeSamples(labels, status, outcome)),
      ),
    ),
    gauge(
      'kube_job_owner',
      "Information about the Job's owner.",
      jobs.flatMap(({ labels, owner }) => (owner === undefined ? [] : [{ labels: { ...labels, ...owner }, value: 1 }])),
    ),
  ];
}

type Replicas = 'desired' | 'current' | 'ready' | 'available' | 'updated' | 'unavailable';

interface ReplicaFamilies {
  kind: WorkloadStatus['kind'];
  families: readonly [name: string, help: string, counted: Replicas][];
}

const replicaFamilies: readonly ReplicaFamilies[] = [
  {
    kind: 'Deployment',
    families: [
      ['kube_deployment_spec_replicas', 'Number of desired pods for a deployment.', 'desired'],
      ['kube_deployment_status_replicas', 'The number of replicas per deployment.', 'current'],
      ['kube_deployment_status_replicas_ready', 'The number of ready replicas per deployment.', 'ready'],
      ['kube_deployment_status_replicas_available', 'The number of available replicas per deployment.', 'available'],
      [
        'kube_deployment_status_replicas_unavailable',
        'The number of unavailable replicas per deployment.',
        'unavailable',
      ],
      ['kube_deployment_status_replicas_updated', 'The number of updated replicas per deployment.', 'updated'],
    ],
  },
  {
    kind: 'StatefulSet',
    families: [
      ['kube_statefulset_replicas', 'Number of desired pods for a StatefulSet.', 'desired'],
      ['kube_statefulset_status_replicas', 'The number of replicas per StatefulSet.', 'current'],
      ['kube_statefulset_status_replicas_ready', 'The number of ready replicas per StatefulSet.', 'ready'],
      ['kube_statefulset_status_replicas_available', 'The number of available replicas per StatefulSet.', 'available'],
      ['kube_statefulset_status_replicas_updated', 'The number of updated replicas per StatefulSet.', 'updated'],
    ],
  },
  {
    kind: 'DaemonSet',
    families: [
      [
        'kube_daemonset_status_desired_number_scheduled',
        'The number of nodes that should be running the daemon pod.',
        'desired',
      ],
      [
        'kube_daemonset_status_current_number_scheduled',
        'The number of nodes running at least one daemon pod and are supposed to.',
        'current',
      ],
      [
        'kube_daemonset_status_number_ready',
        'The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and ready.',
        'ready',
      ],
      [
        'kube_daemonset_status_number_available',
        'The number of nodes that should be running the daemon pod and have one or more of the daemon pod running and available',
        'available',
      ],
      [
        'kube_daemonset_status_number_unavailable',
        'The number of nodes that should be running the daemon pod and have none of the daemon pod running and available',
        'unavailable',
      ],
      [
        'kube_daemonset_status_updated_number_scheduled',
        'The total number of nodes that are running updated daemon pod',
        'updated',
      ],
    ],
  },
  {
    kind: 'ReplicaSet',
    families: [
      ['kube_replicaset_spec_replicas', 'Number of desired pods for a ReplicaSet.', 'desired'],
      ['kube_replicaset_status_replicas', 'The number of replicas per ReplicaSet.', 'current'],
      ['kube_replicaset_status_ready_replicas', 'The number of ready replicas per ReplicaSet.', 'ready'],
    ],
  },
  {
    kind: 'ReplicationController',
    families: [
      ['kube_replicationcontroller_spec_replicas', 'Number of desired pods for a ReplicationController.', 'desired'],
      ['kube_replicationcontroller_status_replicas', 'The number of replicas per ReplicationController.', 'current'],
      [
        'kube_replicationcontroller_status_ready_replicas',
        'The number of ready replicas per ReplicationController.',
        'ready',
      ],
    ],
  },
];

const replicasOf = (one: WorkloadStatus, which: Replicas): number =>
  which === 'unavailable' ? Math.max(0, one.desired - one.available) : one[which];

const seconds = (ms: Value): Value => (ms === undefined ? undefined : ms / 1000);

type CronFamily = readonly [name: string, help: string, value: (one: WorkloadStatus) => Value];

const cronFamilies: readonly CronFamily[] = [
  [
    'kube_cronjob_spec_suspend',
    'Suspend flag tells the controller to suspend subsequent executions.',
    ({ cronJob }) => Number(cronJob?.isSuspended),
  ],
  [
    'kube_cronjob_status_active',
    'Active holds pointers to currently running jobs.',
    ({ cronJob }) => cronJob?.jobs.filter(({ finishedAt }) => finishedAt === undefined).length,
  ],
  [
    'kube_cronjob_status_last_schedule_time',
    'LastScheduleTime keeps information of when was the last time the job was successfully scheduled.',
    ({ cronJob }) => seconds(cronJob?.lastScheduleTime),
  ],
  [
    'kube_cronjob_status_last_successful_time',
    'LastSuccessfulTime keeps information of when was the last time the job was completed successfully.',
    ({ cronJob }) => seconds(cronJob?.lastSuccessfulTime),
  ],
  [
    'kube_cronjob_next_schedule_time',
    'Next time the cronjob should be scheduled.',
    ({ cronJob }) => seconds(cronJob?.nextScheduleTime),
  ],
];

type JobFamily = readonly [name: string, help: string, value: (job: JobStatus) => Value];

const jobFamilies: readonly JobFamily[] = [
  [
    'kube_job_spec_completions',
    'The desired number of successfully finished pods the job should be run with.',
    ({ completions }) => completions,
  ],
  ['kube_job_status_active', 'The number of actively running pods.', ({ active }) => active],
  ['kube_job_status_succeeded', 'The number of pods which reached Phase Succeeded.', ({ succeeded }) => succeeded],
  [
    'kube_job_status_failed',
    'The number of pods which reached Phase Failed and the reason for failure.',
    ({ failed }) => failed,
  ],
  [
    'kube_job_status_suspended',
    'The number of pods which reached Phase Suspended.',
    ({ isSuspended }) => Number(isSuspended),
  ],
  [
    'kube_job_status_start_time',
    'StartTime represents time when the job was acknowledged by the Job Manager.',
    ({ startTime }) => seconds(startTime),
  ],
  [
    'kube_job_status_completion_time',
    'CompletionTime represents time when the job was completed.',
    ({ result, finishedAt }) => (result === 'Complete' ? seconds(finishedAt) : undefined),
  ],
];

function samplesOf(
  workloads: readonly WorkloadStatus[],
  wanted: WorkloadStatus['kind'],
  value: (one: WorkloadStatus) => Value,
): Sample[] {
  const ofKind = workloads.filter(({ kind }) => kind === wanted);
  return ofKind.flatMap((one) => sample({ namespace: one.namespace, [wanted.toLowerCase()]: one.name }, value(one)));
}

const sample = (labels: Labels, value: Value): Sample[] => (value === undefined ? [] : [{ labels, value }]);

interface MeasuredJob {
  labels: Labels;
  status: JobStatus;
  owner?: Labels;
}

/** Jobs, also those of CronJobs. */
function jobsOf({ kind, namespace, name, job, cronJob }: WorkloadStatus): MeasuredJob[] {
  const owner = { owner_kind: kind, owner_name: name, owner_is_controller: 'true' };
  return [
    ...(job ? [{ labels: { namespace, job_name: name }, status: job }] : []),
    ...(cronJob?.jobs ?? []).map(({ name: run, ...status }) => ({
      labels: { namespace, job_name: run },
      status,
      owner,
    })),
  ];
}

const states = ['true', 'false', 'unknown'] as const;

/** A series for each possible status, 1 for the current one. */
function conditionSamples({ namespace, name, conditions }: WorkloadStatus): Sample[] {
  return conditions.flatMap(({ type, status, reason }) =>
    states.map((state) => ({
      labels: { namespace, deployment: name, condition: type, status: state, reason },
      value: Number(status.toLowerCase() === state),
    })),
  );
}

function outcomeSamples(labels: Labels, { result, finishedAt }: JobStatus, outcome: 'complete' | 'failed'): Sample[] {
  if (finishedAt === undefined || result?.toLowerCase() !== outcome) return [];
  return states.map((condition) => ({ labels: { ...labels, condition }, value: Number(condition === 'true') }));
}

const gauge = (name: string, help: string, samples: Sample[]): Family => ({ name, type: 'gauge', help, samples });
