import { decodeObject } from './decode-object.ts';
import { type ManifestDocument, readManifest } from './manifest-document.ts';
import type { ManifestNode } from './manifest-node.ts';
import type { ManifestProblem } from './manifest-problem.ts';
import type { RawPod } from './types.ts';

/** What a manifest says. Warnings come with a pod, errors come without. */
export interface DecodeResult {
  /** The pod as its author wrote it: known fields only, before defaults. */
  pod?: RawPod;
  problems: ManifestProblem[];
  /** The text behind it, for the places of fields; absent when it could not be read. */
  document?: ManifestDocument;
}

/**
 * Decodes the first document of a YAML or JSON text as a v1 Pod, and says with line and column what is wrong with it.
 * `origin` is the file, URL or `<stdin>` it came from.
 *
 * kubelet: config/common.go tryDecodeSinglePod
 */
export function decodeManifest(bytes: Uint8Array | string, origin: string): DecodeResult {
  const reading = readManifest(bytes, origin);
  if ('problem' in reading) return { problems: [reading.problem] };
  const { document } = reading;
  const kindProblem = checkKind(document);
  if (kindProblem) return { problems: [kindProblem], document };

  const { value, findings } = decodeObject('Pod', document.root);
  const problems = [
    ...document.notes.map((note) => ({
      origin,
      ...document.positionAt(note.start),
      message: note.message,
      hint: note.hint,
      severity: 'warning' as const,
    })),
    ...findings.map(({ start, field, message, hint, severity }) => ({
      origin,
      ...document.positionAt(start),
      ...(field === '' ? {} : { field }),
      message,
      ...(hint === undefined ? {} : { hint }),
      severity,
    })),
  ];
  if (problems.some((problem) => problem.severity === 'error')) return { problems, document };
  // The schema behind decodeObject is made from the very declarations of this type.
  return { pod: { ...value, apiVersion: 'v1', kind: 'Pod' }, problems, document };
}

function checkKind(document: ManifestDocument): ManifestProblem | undefined {
  const { origin, root } = document;
  const refuse = (field: string, message: string, hint: string): ManifestProblem => ({
    origin,
    ...document.positionOf(field),
    ...(field === '' ? {} : { field }),
    message,
    hint,
    severity: 'error',
  });
  if (root.kind !== 'object') {
    return refuse('', `Expected a Pod, found ${root.kind === 'null' ? 'nothing' : `a ${root.kind}`}`, podHint);
  }
  for (const [field, expected] of [['apiVersion', 'v1'] as const, ['kind', 'Pod'] as const]) {
    const node = typeField(root, field);
    if (!node || node.kind === 'null') return refuse(field, `${field} is missing`, podHint);
    if (node.kind !== 'string') return refuse(field, `${field} must be a string`, podHint);
    if (field === 'apiVersion' && node.value !== expected && !isPodKind(root)) continue;
    if (node.value !== expected)
      return refuse(field, `${field} "${node.value}" is not supported`, hintForKind(node.value));
  }
  return undefined;
}

const podHint = 'A manifest starts with "apiVersion: v1" and "kind: Pod".';

function isPodKind(root: ManifestNode): boolean {
  const node = typeField(root, 'kind');
  return node?.kind === 'string' && node.value === 'Pod';
}

/** Go finds these two names whatever their case, when no exact one is there. */
function typeField(root: ManifestNode, name: string): ManifestNode | undefined {
  if (root.kind !== 'object') return undefined;
  const exact = root.entries.findLast((entry) => entry.key === name);
  return (exact ?? root.entries.findLast((entry) => entry.key.toLowerCase() === name.toLowerCase()))?.value;
}

function hintForKind(kind: string): string {
  if (kind === 'List' || kind === 'PodList') return 'Write one pod a file.';
  if (['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob'].includes(kind)) {
    return `A ${kind} needs a control plane; write the pod of its template as a Pod.`;
  }
  return podHint;
}
