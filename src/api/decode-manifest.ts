import { type ManifestDocument, readManifest } from './manifest-document.ts';
import { hintForApiVersion } from './manifest-kinds.ts';
import { decodeManifestObject, type ManifestObject, notesOf, problemOf } from './manifest-object.ts';
import type { ManifestProblem } from './manifest-problem.ts';
import { objectType } from './object-type.ts';
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
  const object: ManifestObject = { document, node: document.root, path: '' };
  const kindProblem = checkKind(object);
  if (kindProblem) return { problems: [kindProblem], document };
  const { pod, problems } = decodePod(object);
  return { ...(pod && { pod }), problems: [...notesOf(document), ...problems], document };
}

/** Decodes one object of a manifest as a Pod, whatever it says that it is. */
export function decodePod(object: ManifestObject): Pick<DecodeResult, 'pod' | 'problems'> {
  const { value, problems } = decodeManifestObject('Pod', object);
  // The schema behind the decoder is made from the very declarations of this type.
  return value === undefined ? { problems } : { pod: { ...value, apiVersion: 'v1', kind: 'Pod' }, problems };
}

/** Why the object is no v1 Pod; undefined when it is one. */
function checkKind(object: ManifestObject): ManifestProblem | undefined {
  const refuse = (field: string, message: string, hint: string): ManifestProblem =>
    problemOf(object, { field, message, hint, severity: 'error' });
  const { node } = object;
  if (node.kind !== 'object') {
    return refuse(
      '',
      `Expected a Pod, found ${node.kind === 'null' ? 'nothing' : `a ${node.kind}`}`,
      hintForApiVersion('Pod'),
    );
  }
  const read = objectType(object);
  if ('problem' in read) return read.problem;
  const { apiVersion, kind } = read.type;
  if (kind !== 'Pod') return refuse('kind', `kind "${kind}" is not supported`, hintForKind(kind));
  if (apiVersion !== 'v1')
    return refuse('apiVersion', `apiVersion "${apiVersion}" is not supported`, hintForApiVersion(kind));
  return undefined;
}

function hintForKind(kind: string): string {
  if (kind === 'List' || kind === 'PodList') return 'Write one pod a file.';
  if (['Deployment', 'ReplicaSet', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob'].includes(kind)) {
    return `A ${kind} needs a control plane; write the pod of its template as a Pod.`;
  }
  return hintForApiVersion('Pod');
}
