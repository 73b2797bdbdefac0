import { type ConfigData, type ConfigObject, isConfigData } from '../../api/values/config-object.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import type { SourceUpdate } from '../../engine/config/pod-source.ts';

/** Output of `validate -o json`. */
export interface ValidationReport {
  errors: number;
  warnings: number;
  notes: number;
  problems: ManifestProblem[];
  pods: { namespace: string; name: string; uid: string }[];
  configMaps: DeclaredKeys[];
  secrets: DeclaredKeys[];
  /** Names. */
  runtimeClasses: string[];
  priorityClasses: string[];
  /** `namespace/name`. */
  persistentVolumeClaims: string[];
  /** Names. */
  persistentVolumes: string[];
  csiDrivers: string[];
  /** `namespace/name`. */
  services: string[];
  cronJobs: string[];
}

interface DeclaredKeys {
  namespace: string;
  name: string;
  /** Size of the value of every key, in bytes. */
  keys: Record<string, number>;
}

export function validationJSON(update: SourceUpdate): ValidationReport {
  const { pods, configObjects = [], problems } = update;
  const ofKind = (kind: ConfigData['kind']): DeclaredKeys[] =>
    configObjects.filter(isConfigData).flatMap((object) => (object.kind === kind ? [declaredKeys(object)] : []));
  const namesOf = (kind: ConfigObject['kind']): string[] =>
    configObjects
      .filter((object) => object.kind === kind)
      .map((object) => ('namespace' in object ? `${object.namespace}/${object.name}` : object.name));
  return {
    errors: count(problems, 'error'),
    warnings: count(problems, 'warning'),
    notes: count(problems, 'note'),
    problems,
    pods: pods.map(({ metadata: { namespace, name, uid } }) => ({ namespace, name, uid })),
    configMaps: ofKind('ConfigMap'),
    secrets: ofKind('Secret'),
    runtimeClasses: namesOf('RuntimeClass'),
    priorityClasses: namesOf('PriorityClass'),
    persistentVolumeClaims: namesOf('PersistentVolumeClaim'),
    persistentVolumes: namesOf('PersistentVolume'),
    csiDrivers: namesOf('CSIDriver'),
    services: namesOf('Service'),
    cronJobs: cronJobsOf(update),
  };
}

/** `namespace/name` of each. Their pods are not declared before a run. */
const cronJobsOf = ({ workloads = [] }: SourceUpdate): string[] =>
  workloads.filter(({ kind }) => kind === 'CronJob').map(({ namespace, name }) => `${namespace}/${name}`);

const countedKinds = [
  'ConfigMap',
  'Secret',
  'RuntimeClass',
  'PriorityClass',
  'PersistentVolumeClaim',
  'PersistentVolume',
  'CSIDriver',
  'Service',
  'Endpoints',
  'EndpointSlice',
] as const satisfies ConfigObject['kind'][];

/** The last line of the report: `2 pods (1 broken), 1 ConfigMap: 1 error, 2 warnings, 3 notes`. */
export function validationSummary(update: SourceUpdate): string {
  const { pods, configObjects = [], problems, broken = [] } = update;
  const cronJobs = cronJobsOf(update).length;
  const amount = (kind: string, good: number): { all: number; bad: number } => {
    const bad = broken.filter((one) => one === kind).length;
    return { all: good + bad, bad };
  };
  const shown = ({ all, bad }: { all: number; bad: number }, what: string): string =>
    `${counted(all, what)}${bad === 0 ? '' : ` (${bad} broken)`}`;
  const declared = [
    shown(amount('Pod', pods.length), 'pod'),
    ...(cronJobs === 0 ? [] : [counted(cronJobs, 'CronJob')]),
    ...countedKinds
      .map((kind) => [amount(kind, configObjects.filter((object) => object.kind === kind).length), kind] as const)
      .filter(([{ all }]) => all > 0)
      .map(([amounts, kind]) => shown(amounts, kind)),
  ];
  const notes = count(problems, 'note');
  const found = [
    counted(count(problems, 'error'), 'error'),
    counted(count(problems, 'warning'), 'warning'),
    ...(notes === 0 ? [] : [counted(notes, 'note')]),
  ];
  return `${declared.join(', ')}: ${found.join(', ')}`;
}

/** All problems grouped by file, in order of their lines. Files keep the order of their first problem. */
export function inFileOrder(problems: readonly ManifestProblem[]): ManifestProblem[] {
  const origins = [...new Set(problems.map(({ origin }) => origin))];
  const position = ({ origin, line = 0, column = 0 }: ManifestProblem): number[] => [
    origins.indexOf(origin),
    line,
    column,
  ];
  return problems.toSorted((a, b) => {
    const [left, right] = [position(a), position(b)];
    const at = left.findIndex((part, index) => part !== right[index]);
    return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
  });
}

function declaredKeys({ namespace, name, data, binaryData }: ConfigData): DeclaredKeys {
  const sizes = [...data, ...binaryData].map(([key, value]) => [key, value.length] as const);
  return { namespace, name, keys: Object.fromEntries(sizes) };
}

function count(problems: readonly ManifestProblem[], severity: ManifestProblem['severity']): number {
  return problems.filter((problem) => problem.severity === severity).length;
}

function counted(amount: number, what: string): string {
  return `${amount} ${what}${amount === 1 || what === 'Endpoints' ? '' : what.endsWith('s') ? 'es' : 's'}`;
}
