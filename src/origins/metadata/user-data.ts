import { FAILSAFE_SCHEMA, load, mapTag, seqTag, strTag, YAMLException } from 'js-yaml';
import { gunzipSync } from 'node:zlib';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { errorMessage } from '../../errors.ts';

/**
 * The manifests in the user data of a machine: the whole text, or `kubelet-ts.manifests` of a cloud-config. The data
 * may be packed with gzip, as for cloud-init. Throws an OriginFailure for any other form.
 */
export function manifestsOf(userData: Buffer): Buffer {
  const bytes = unpacked(userData);
  const start = bytes.toString('latin1', 0, 512);
  if (bytes.length === 0) throw noManifest('the user data is empty', 'To remove all pods, declare an empty List.');
  if (/^#cloud-config\s/.test(start)) return fromCloudConfig(bytes.toString('utf8'));
  const other = otherForms.find(([form]) => form.test(start))?.[1];
  if (other === undefined) return bytes;
  throw noManifest(`the user data is ${other}`, 'Use manifests alone, or a cloud-config with kubelet-ts.manifests.');
}

const otherForms: readonly (readonly [RegExp, string])[] = [
  [/^#!/, 'a script'],
  [/^(content-type: multipart|mime-version:)/i, 'a MIME message of several parts'],
];

function unpacked(bytes: Buffer): Buffer {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  try {
    return gunzipSync(bytes, { maxOutputLength: maxManifestBytes });
  } catch (error) {
    throw noManifest(
      `the user data cannot be unpacked: ${errorMessage(error)}`,
      'Pack it again with gzip, up to 10 MiB.',
    );
  }
}

function fromCloudConfig(text: string): Buffer {
  const config = loadYAML(text, 'the cloud-config');
  const ours = fieldsOf(config)['kubelet-ts'];
  const manifests = fieldsOf(ours)['manifests'];
  if (typeof manifests === 'string') return Buffer.from(manifests);
  const problem = manifests === undefined ? 'has no kubelet-ts.manifests' : 'has kubelet-ts.manifests that is no text';
  throw noManifest(`the cloud-config ${problem}`, 'Write the manifests as a block: kubelet-ts: {manifests: |…}');
}

/** Values with a tag are as without it, because other parts of a cloud-config may have any tag. */
const schema = FAILSAFE_SCHEMA.withTags(
  [strTag, seqTag, mapTag].map((tag) => ({ ...tag, tagName: '', matchByTagPrefix: true })),
);

/** Parses YAML with every scalar as its text. Throws an OriginFailure without a quote of the text. */
export function loadYAML(text: string, what: string): unknown {
  try {
    return load(text, { schema });
  } catch (error) {
    // The reason of the parser quotes tags and aliases, and a password may look like one.
    const mark = error instanceof YAMLException ? error.mark : undefined;
    const place = mark === undefined ? '' : ` at line ${mark.line + 1}, column ${mark.column + 1}`;
    const hint = 'Check the indentation, the quotes, the tags and the aliases there.';
    throw noManifest(`${what} is no YAML${place}`, hint);
  }
}

export function noManifest(message: string, hint: string): OriginFailure {
  return new OriginFailure('is no manifest', message, hint);
}

/** The fields of a value that should be an object. */
export const fieldsOf = (value: unknown): Readonly<Record<string, unknown>> => Object(value) as Record<string, unknown>;
