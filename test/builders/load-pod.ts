import { loadPodObject, type LoadResult } from '../../src/api/objects/load-pod.ts';
import { type ManifestDocument, readManifest } from '../../src/api/decoding/manifest-document.ts';
import { hintForApiVersion } from '../../src/api/decoding/manifest-kinds.ts';
import {
  decodeManifestObject,
  type FieldProblem,
  type ManifestObject,
  readerWarnings,
  problemOf,
} from '../../src/api/decoding/manifest-object.ts';
import type { ManifestProblem } from '../../src/api/text/manifest-problem.ts';
import { objectType } from '../../src/api/decoding/object-type.ts';
import { ProblemList } from '../../src/api/text/problem-list.ts';
import type { StaticPodOptions } from '../../src/api/objects/static-pod.ts';
import type { RawPod } from '../../src/api/types.ts';

/**
 * Decodes the first document of a text as a Pod, without defaults. As in the kubelet, other kinds are errors. kubelet:
 * config/common.go tryDecodeSinglePod
 */
export function decodeManifest(
  bytes: Uint8Array | string,
  origin: string,
): { pod?: RawPod; problems: ManifestProblem[] } {
  const first = firstPod(bytes, origin);
  if ('problem' in first) return { problems: [first.problem] };
  const { value, problems } = decodeManifestObject('Pod', first);
  const pod = value && { ...value, apiVersion: 'v1' as const, kind: 'Pod' as const };
  return { ...(pod && { pod }), problems: [...readerWarnings(first.document), ...problems] };
}

/** Returns the static pod in the first document of a text, with defaults and validated. */
export function loadPod(bytes: Uint8Array | string, options: StaticPodOptions): LoadResult {
  const first = firstPod(bytes, options.origin);
  if ('problem' in first) return { problems: [first.problem] };
  const shown = new ProblemList();
  const { pod, problems } = loadPodObject(first, options);
  shown.addAll([...readerWarnings(first.document), ...problems]);
  return { ...(pod && { pod }), problems: shown.list(options.origin) };
}

function firstPod(bytes: Uint8Array | string, origin: string): ManifestObject | { problem: ManifestProblem } {
  const reading = readManifest(bytes, origin);
  if ('problem' in reading) return reading;
  const object = wholeDocument(reading.document);
  const refuse = (problem: Pick<FieldProblem, 'field' | 'message' | 'hint'>) => ({
    problem: problemOf(object, { ...problem, severity: 'error' }),
  });
  if (object.node.kind !== 'object') return refuse({ field: '', message: `Expected a Pod, found ${object.node.kind}` });
  const read = objectType(object);
  if ('problem' in read) return read;
  const { apiVersion, kind } = read.type;
  if (kind !== 'Pod') return refuse({ field: 'kind', message: `kind "${kind}" is not supported` });
  const hint = hintForApiVersion(kind);
  if (apiVersion === 'v1') return object;
  return refuse({ field: 'apiVersion', message: `apiVersion "${apiVersion}" is not supported`, hint });
}

const wholeDocument = (document: ManifestDocument): ManifestObject => ({ document, node: document.root, path: '' });
