/** Texts of the engine that other code recognizes: the writer of each text is beside its reader. */

/** Pods that a pod waits for, as `name` or `namespace/name`. */
export interface AwaitedPods {
  /** Declared, but not Ready. */
  unready: readonly string[];
  undeclared: readonly string[];
}

const isNotReady = 'to be Ready';
const isNotDeclared = ', which no manifest declares';

/** Such as `Waiting for etcd to be Ready. Waiting for db, which no manifest declares`. */
export function awaitedPodsText({ unready, undeclared }: AwaitedPods): string {
  return [
    ...(unready.length > 0 ? [`Waiting for ${unready.join(', ')} ${isNotReady}`] : []),
    ...(undeclared.length > 0 ? [`Waiting for ${undeclared.join(', ')}${isNotDeclared}`] : []),
  ].join('. ');
}

/** The pods of a text by `awaitedPodsText`. Other text may follow it. */
export function awaitedPods(text: string): AwaitedPods {
  return { unready: namesBefore(` ${isNotReady}`, text), undeclared: namesBefore(isNotDeclared, text) };
}

/** The names after `Waiting for`. A name has neither commas nor spaces. */
function namesBefore(end: string, text: string): string[] {
  const [, names] = new RegExp(`Waiting for ([^ ,]+(?:, [^ ,]+)*)${end}`).exec(text) ?? [];
  return names?.split(', ') ?? [];
}

/** Why a pod is evicted that exceeds a limit of its own. kubelet: eviction/eviction_manager.go, the messages */
export const storageLimitTexts = {
  emptyDir: (volume: string, limit: string): string =>
    `Usage of EmptyDir volume "${volume}" exceeds the limit "${limit}". `,
  pod: (limit: string): string => `Pod ephemeral local storage usage exceeds the total limit of containers ${limit}. `,
  container: (name: string, limit: string): string =>
    `Container ${name} exceeded its local ephemeral storage limit "${limit}". `,
};

/** True for a text of `storageLimitTexts`. */
export function isStorageLimitText(text: string): boolean {
  return [
    /^Usage of EmptyDir volume "/,
    /^Pod ephemeral local storage usage exceeds the total limit of containers /,
    /^Container \S+ exceeded its local ephemeral storage limit "/,
  ].some((pattern) => pattern.test(text));
}

/** What is wrong with a new sandbox. */
export const sandboxFaults = {
  ended: 'the pod sandbox ended within a second of its start',
  noAddress: 'the container runtime gave the pod sandbox no IP address',
  changed: 'the pod sandbox changed within a second of its start',
};

const failedToPull = 'Failed to pull image ';

/** The message of an event `Failed` for an image. */
export function failedPullText(image: string, because: string): string {
  return `${failedToPull}"${image}": ${because}`;
}

/** True for a text by `failedPullText`. The reason `Failed` has several causes; only the message distinguishes them. */
export function isFailedPullText(text: string): boolean {
  return text.startsWith(failedToPull);
}
