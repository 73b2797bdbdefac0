import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { decodeManifest } from '../../src/api/decode-manifest.ts';
import { loadPod } from '../../src/api/load-pod.ts';
import { podQOSClass } from '../../src/api/qos.ts';
import { podLimits, podRequests, toResourceList } from '../../src/api/resource-totals.ts';
import { toStaticPod } from '../../src/api/static-pod.ts';
import type { RawPod } from '../../src/api/types.ts';
import { validatePod } from '../../src/api/validate-pod.ts';

/** One recorded manifest; test/golden/manifests/README.md says what each member means. */
interface ManifestCase {
  name: string;
  manifest?: string;
  manifestBase64?: string;
  expect: {
    parsed: boolean;
    accepted: boolean;
    fieldErrors: { field: string; type: string }[];
    pod?: JsonObject;
    qosClass?: string;
    requests?: Record<string, string>;
    limits?: Record<string, string>;
  };
}
type JsonObject = Record<string, unknown>;

const typeNames: Readonly<Record<string, string>> = {
  'Duplicate value': 'FieldValueDuplicate',
  Forbidden: 'FieldValueForbidden',
  'Invalid value': 'FieldValueInvalid',
  'Not found': 'FieldValueNotFound',
  'Required value': 'FieldValueRequired',
  'Too long': 'FieldValueTooLong',
  'Unsupported value': 'FieldValueNotSupported',
};

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

function loadCases(file: string): ManifestCase[] {
  const text = readFileSync(new URL(`../golden/manifests/${file}.jsonl`, import.meta.url), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ManifestCase);
}

function bytesOf({ manifest, manifestBase64 = '' }: ManifestCase): Uint8Array {
  return manifest === undefined ? Buffer.from(manifestBase64, 'base64') : Buffer.from(manifest);
}

function optionsFor({ name }: ManifestCase) {
  return { nodeName: 'edge1', source: 'file', origin: `/manifests/${name}.yaml`, hash } as const;
}

/** Drops what the recording says not to compare. */
function comparable(pod: object, raw: RawPod): unknown {
  const copy = withoutNulls(structuredClone(pod)) as JsonObject & {
    metadata: JsonObject & { annotations?: JsonObject };
    spec: JsonObject;
  };
  delete copy['status'];
  if (raw.metadata?.uid === undefined) delete copy.metadata['uid'];
  const annotations = Object.entries(copy.metadata.annotations ?? {}).filter(
    ([key]) => !key.startsWith('kubernetes.io/config.'),
  );
  delete copy.metadata.annotations;
  if (annotations.length > 0) copy.metadata.annotations = Object.fromEntries(annotations);
  for (const list of ['containers', 'initContainers']) {
    for (const container of (copy.spec[list] ?? []) as JsonObject[]) {
      if (Object.keys(container['resources'] ?? {}).length === 0) delete container['resources'];
    }
  }
  return copy;
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([key, member]) => [key, withoutNulls(member)]),
  );
}

describe.each(['valid', 'invalid', 'edge'])('the recorded %s manifests', (file) => {
  test.each(loadCases(file))('$name ends as it did in the kubelet', (manifestCase) => {
    const expected = manifestCase.expect;
    const bytes = bytesOf(manifestCase);
    const options = optionsFor(manifestCase);
    const { pod: raw } = decodeManifest(bytes, options.origin);
    const { pod, problems } = loadPod(bytes, options);

    expect({ parsed: raw !== undefined, accepted: pod !== undefined }).toEqual({
      parsed: expected.parsed,
      accepted: expected.accepted,
    });
    if (raw?.metadata?.name) {
      const errors = validatePod(toStaticPod(raw, options)).map(({ field, type }) => ({
        field,
        type: typeNames[type],
      }));
      expect(new Set(errors.map((error) => JSON.stringify(error)))).toEqual(
        new Set(expected.fieldErrors.map(({ field, type }) => JSON.stringify({ field, type }))),
      );
    }
    if (pod && raw && expected.pod) {
      expect(comparable(pod, raw)).toEqual(comparable(expected.pod, raw));
      expect({
        qosClass: podQOSClass(pod),
        requests: toResourceList(podRequests(pod)),
        limits: toResourceList(podLimits(pod)),
      }).toEqual({ qosClass: expected.qosClass, requests: expected.requests, limits: expected.limits });
    } else {
      expect(problems.some(({ severity }) => severity === 'error')).toBe(true);
    }
  });
});
