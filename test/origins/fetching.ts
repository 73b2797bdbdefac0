import type { FetchReport, KnownBody, ManifestOrigin } from '../../src/engine/config/polled/manifest-origin.ts';
import { OriginFailure } from '../../src/engine/config/polled/origin-failure.ts';
import { sha256 } from '../../src/engine/config/last-good/last-good-format.ts';

/** What an origin sends: the text of its body, `unchanged`, or why it sends none. */
export async function fetched(origin: ManifestOrigin, knownBody?: string | KnownBody): Promise<unknown> {
  const known = typeof knownBody === 'string' ? { digest: sha256(knownBody), validators: {} } : knownBody;
  const notes: FetchReport = { warnings: [], bodyBytes: 0 };
  try {
    const { validators, content } = await origin.fetch(known, notes, new AbortController().signal);
    if (content === undefined) return 'unchanged';
    const { body, signature } = content;
    const lastSignedAtSeconds = undefined;
    await origin.trust?.(body, { digest: sha256(body), validators, signature, lastSignedAtSeconds });
    return Buffer.from(body).toString();
  } catch (error) {
    if (!(error instanceof OriginFailure)) throw error;
    return { kind: error.kind, message: error.message, hint: error.hint };
  }
}
