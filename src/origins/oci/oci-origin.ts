import type { KeyObject } from 'node:crypto';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import { joinFiles, linkWarnings } from '../../engine/config/polled/joined-files.ts';
import type {
  BodyEvidence,
  FetchReport,
  KnownBody,
  ManifestOrigin,
  OriginAnswer,
} from '../../engine/config/polled/manifest-origin.ts';
import { sha256 } from '../../engine/config/last-good/last-good-format.ts';
import { type Layer, layersOf } from './artifact-manifest.ts';
import {
  bundleType,
  type CosignSignature,
  isSigned,
  parseKept,
  payloadType,
  readCosignKeys,
  signatureAnnotation,
  signatureOfBundle,
  signatureTag,
} from './cosign.ts';
import { textOf } from './json-members.ts';
import { LayerFiles } from './layer-files.ts';
import { isDigest } from './oci-url.ts';
import { Registry, type RegistryOptions, type RegistryVisit, statusFailure } from './registry.ts';

interface Options extends RegistryOptions {
  /** The URL as the operator wrote it. It contains no secrets. */
  url: URL;
  /** Public key files. If there are any, one of the keys must have signed the artifact. */
  cosignKeyFiles: readonly string[];
}

/** A signed text has a few hundred bytes, and a bundle without certificates has twice as many. */
const maxSignedBytes = 16 * 1024;
/** It is unusual for an artifact to have more signatures. */
const maxSignatures = 20;
/** Attestations and SBOMs are referrers, too. */
const maxReferrers = 50;

/**
 * Manifests in the layers of an OCI artifact. A tag is compared by its digest, so an unchanged tag costs one request
 * without a body. The content of each blob is checked against its digest.
 */
export class OCIOrigin implements ManifestOrigin {
  readonly where: string;
  readonly hasFiles = true;
  private readonly registry: Registry;

  constructor(private readonly options: Options) {
    this.where = options.url.href;
    this.registry = new Registry(options);
  }

  async fetch(known: KnownBody | undefined, report: FetchReport, signal: AbortSignal): Promise<OriginAnswer> {
    const { reference } = this.options;
    const version = known?.validators.version;
    if (known !== undefined && version === reference) return { validators: known.validators };
    return this.registry.visit(report, signal, async (visit) => {
      const digest = isDigest(reference) ? reference : await visit.digestOf(reference);
      if (known !== undefined && digest !== undefined && digest === version) return { validators: known.validators };
      return this.read(visit, digest ?? reference, known, report);
    });
  }

  /**
   * Verifies again that the artifact's digest is signed. Only the fetch proves that the body comes from that artifact.
   */
  async trust(_body: Uint8Array, { validators, signature = '' }: BodyEvidence): Promise<undefined> {
    const keys = await this.keys();
    if (keys.length === 0) return;
    const { version = '' } = validators;
    const kept = parseKept(signature);
    if (kept === undefined || !isSigned(version, kept, keys)) throw unsigned(version);
  }

  private async read(
    visit: RegistryVisit,
    reference: string,
    known: KnownBody | undefined,
    report: FetchReport,
  ): Promise<OriginAnswer> {
    const manifest = await visit.manifest(reference);
    if (manifest === undefined) throw statusFailure(404);
    const { bytes, digest } = manifest;
    const validators = { version: digest };
    // The digest of a tag whose registry reports none in its headers.
    if (known?.validators.version === digest) return { validators: known.validators };
    const keys = await this.keys();
    const signature = keys.length > 0 ? await this.signature(visit, digest, keys) : undefined;
    const found = new LayerFiles(report);
    for (const layer of layersOf(bytes)) {
      if (LayerFiles.isReadable(layer)) await found.add(layer, await visit.blob(layer), visit.signal);
    }
    const { files, links } = found.all();
    report.warnings.push(...linkWarnings(this.where, 'an artifact', links));
    const body = joinFiles(files);
    return { validators, ...(sha256(body) !== known?.digest && { content: { body, signature } }) };
  }

  /**
   * Returns a signature by one of the keys, in the form in which it is stored. Rejects with an OriginFailure if no key
   * matches.
   */
  private async signature(visit: RegistryVisit, digest: string, keys: readonly KeyObject[]): Promise<string> {
    for await (const kept of signaturesOf(visit, digest)) {
      if (isSigned(digest, kept, keys)) return JSON.stringify(kept);
    }
    throw unsigned(digest);
  }

  private keys(): Promise<KeyObject[]> {
    return readCosignKeys(this.options.cosignKeyFiles);
  }
}

/** Yields the signatures under cosign 2's tag, then those in cosign 3's bundles. */
async function* signaturesOf(visit: RegistryVisit, digest: string): AsyncIterable<CosignSignature> {
  const signatures = await visit.manifest(signatureTag(digest));
  for (const layer of smallLayers(signatures === undefined ? [] : layersOf(signatures.bytes), payloadType)) {
    const signature = textOf(layer.annotations, signatureAnnotation);
    if (signature !== '') yield { payload: (await visit.blob(layer)).toString('base64'), signature };
  }
  // The type in the index is not compared: cosign 3.1 writes a different one into the index under a tag.
  for (const referrer of (await visit.referrers(digest)).slice(0, maxReferrers)) {
    for (const layer of smallLayers(await layersOfReferrer(visit, referrer), bundleType)) {
      const kept = signatureOfBundle(await visit.blob(layer));
      if (kept !== undefined) yield kept;
    }
  }
}

/** Returns [] for a referrer that is an index, is as large as an SBOM may be, or was deleted. */
async function layersOfReferrer(visit: RegistryVisit, digest: string): Promise<Layer[]> {
  const manifest = await visit.manifest(digest);
  try {
    return manifest === undefined ? [] : layersOf(manifest.bytes);
  } catch {
    return [];
  }
}

/** Returns the layers of the type that are small enough to hold a signature, up to a maximum number. */
const smallLayers = (layers: readonly Layer[], type: string): Layer[] =>
  layers.filter(({ mediaType, size }) => mediaType === type && size <= maxSignedBytes).slice(0, maxSignatures);

function unsigned(digest: string): OriginFailure {
  const hint = `Sign it with cosign sign --key, so that the tag ${signatureTag(digest)} or a referrer has it.`;
  return new OriginFailure('is no manifest', `no key of --manifest-url-cosign-key signed ${digest}`, hint);
}
