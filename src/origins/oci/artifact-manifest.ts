import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { maxManifestBytes } from '../../api/decoding/manifest-document.ts';
import { members, parsedJSON, textOf } from './json-members.ts';
import { isDigest } from './oci-url.ts';

/** Media types of manifests with layers. */
export const manifestTypes: readonly string[] = [
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

/** A layer of an artifact, as its manifest describes it. */
export interface Layer {
  mediaType: string;
  /** `sha256:…` */
  digest: string;
  /** In bytes. */
  size: number;
  annotations: ReadonlyMap<string, unknown>;
}

/** Artifacts with manifests have far fewer. */
const maxLayers = 100;

/**
 * Returns the layers of a manifest. Throws an OriginFailure for an index, a damaged manifest, and layers of more than
 * 10 MiB in total.
 */
export function layersOf(manifest: Uint8Array): Layer[] {
  const parsed = members(parsedJSON(manifest));
  if (Array.isArray(parsed.get('manifests'))) {
    const hint = 'Push the manifests as one artifact, without platforms, or name one of its digests: …@sha256:…';
    throw new OriginFailure('is no manifest', 'the artifact is an index of several', hint);
  }
  const layers: unknown = parsed.get('layers');
  if (!Array.isArray(layers)) throw damaged('the manifest of the artifact has no layers');
  if (layers.length > maxLayers) throw damaged(`the artifact has more than ${maxLayers} layers`);
  const read = layers.map(layerOf);
  if (read.reduce((sum, { size }) => sum + size, 0) > maxManifestBytes) {
    const hint = 'It is probably no artifact with manifests. Check repository and tag.';
    throw new OriginFailure('is no manifest', 'the layers of the artifact are larger than 10 MiB', hint);
  }
  return read;
}

/** Returns the digests of the manifests in an index, such as an index of referrers. Returns [] for other text. */
export function digestsOf(index: Uint8Array): string[] {
  const manifests: unknown = members(parsedJSON(index)).get('manifests');
  return Array.isArray(manifests) ? manifests.map((one) => textOf(members(one), 'digest')).filter(isDigest) : [];
}

function layerOf(value: unknown): Layer {
  const layer = members(value);
  const [mediaType, digest, size] = [textOf(layer, 'mediaType'), textOf(layer, 'digest'), layer.get('size')];
  if (!isDigest(digest)) throw damaged('a layer of the artifact has no SHA-256 digest');
  if (typeof size !== 'number' || !Number.isSafeInteger(size) || size < 0) {
    throw damaged('a layer of the artifact has no size');
  }
  return { mediaType, digest, size, annotations: members(layer.get('annotations')) };
}

const damaged = (message: string): OriginFailure =>
  new OriginFailure('is no manifest', message, 'Push it again, with oras push or flux push artifact.');
