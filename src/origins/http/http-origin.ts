import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import type {
  BodyEvidence,
  FetchReport,
  KnownBody,
  ManifestOrigin,
  OriginAnswer,
} from '../../engine/config/polled/manifest-origin.ts';
import { sha256 } from '../../engine/config/last-good/last-good-format.ts';
import { toOriginFailure } from './explain-failure.ts';
import { type ManifestServer, type Visit, visitServer } from './manifest-server.ts';
import { maxSignatureFileBytes, signatureLines } from './minisign.ts';
import { type ManifestTrust, trustManifest } from './trust-manifest.ts';
import { shownURL } from './url.ts';

interface Options extends ManifestServer {
  trust: ManifestTrust;
}

/** A manifest URL: its body, plus its `.minisig` if keys are configured. kubelet: config/http.go extractFromURL */
export class HTTPOrigin implements ManifestOrigin {
  readonly where: string;

  constructor(private readonly options: Options) {
    this.where = shownURL(options.url);
  }

  selector(): string {
    const { url, headers } = this.options;
    return JSON.stringify([url.href, headers]);
  }

  async fetch(known: KnownBody | undefined, report: FetchReport, signal: AbortSignal): Promise<OriginAnswer> {
    const { options } = this;
    return visitServer(options, signal, async (visit) => {
      report.warnings.push(...visit.warnings);
      const answer = await visit.get(options.url, known?.validators);
      if (answer === 'not modified') return { validators: known?.validators ?? {} };
      const { body, validators } = answer;
      report.bodyBytes = body.length;
      if (sha256(body) === known?.digest) return { validators };
      refuseNoManifest(body);
      const isSigned = options.trust.publicKeys.length > 0;
      return { validators, content: { body, signature: isSigned ? await this.fetchSignature(visit) : undefined } };
    });
  }

  trust(body: Uint8Array, evidence: BodyEvidence): number | undefined {
    return trustManifest(body, evidence, this.options.trust);
  }

  private async fetchSignature(visit: Visit): Promise<string> {
    const url = new URL(this.options.url);
    url.pathname += '.minisig';
    try {
      const answer = await visit.get(url, {}, maxSignatureFileBytes);
      return answer === 'not modified' ? '' : signatureLines(answer.body.toString('utf8'));
    } catch (error) {
      const { kind, message, retryAfterMs } = toOriginFailure(error);
      const hint = `It is read from ${shownURL(url)}.`;
      throw new OriginFailure(kind, `no signature: ${message}`, hint, { retryAfterMs, cause: error });
    }
  }
}

/** Throws an OriginFailure for an empty body or a web page. */
function refuseNoManifest(body: Buffer): void {
  if (body.length === 0) {
    const hint = 'To remove all pods, serve an empty list: {"apiVersion":"v1","kind":"List","items":[]}';
    throw new OriginFailure('is no manifest', 'the server answered 200 with an empty body', hint);
  }
  if (!/^\s*</.test(body.toString('latin1', 0, 512))) return;
  const hint = 'Is it the log-in page of a network, or the error page of a proxy? Check it with curl.';
  throw new OriginFailure('is no manifest', 'the server answered with a web page', hint);
}
