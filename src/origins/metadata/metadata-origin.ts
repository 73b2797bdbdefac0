import type { Clock } from '../../clock.ts';
import { OriginFailure } from '../../engine/config/polled/origin-failure.ts';
import type {
  FetchReport,
  KnownBody,
  ManifestOrigin,
  OriginAnswer,
} from '../../engine/config/polled/manifest-origin.ts';
import { sha256 } from '../../engine/config/last-good/last-good-format.ts';
import { sendRequest } from '../http/http-request.ts';
import type { LargeBodies } from '../http/large-bodies.ts';
import { readBody } from '../http/read-body.ts';
import { type RequestLimits, withinLimits } from '../http/request-limits.ts';
import { type RequestMetadata, metadataServices } from './metadata-services.ts';

interface Options {
  /** Such as `gce://KEY` or `ec2://`. */
  url: URL;
  largeBodies: LargeBodies;
  clock: Clock;
  /** Address of the service. Defaults to the link-local address that all clouds use. */
  service?: string;
}

/** Reached without a router. Requests never use a proxy. */
const linkLocalService = 'http://169.254.169.254';

/** The metadata service of a cloud. Its responses are trusted like the cloud itself. */
export class MetadataOrigin implements ManifestOrigin {
  readonly where: string;

  constructor(private readonly options: Options) {
    this.where = options.url.href;
  }

  async fetch(known: KnownBody | undefined, report: FetchReport, signal: AbortSignal): Promise<OriginAnswer> {
    const { protocol, host } = this.options.url;
    const read = metadataServices.get(protocol);
    if (read === undefined) throw new OriginFailure('refused', `${protocol} is no cloud`, 'Check --manifest-url.');
    const body = await withinLimits(this.options.clock, signal, (limits) => read(this.requester(limits), host));
    report.bodyBytes = body.length;
    return { validators: {}, ...(sha256(body) !== known?.digest && { content: { body } }) };
  }

  /** Follows no redirects, because metadata services send none. */
  private requester(limits: RequestLimits): RequestMetadata {
    const { service = linkLocalService, largeBodies } = this.options;
    return async (path, { method = 'GET', headers = {} }) => {
      const url = new URL(path, service);
      const { signal } = limits;
      const response = await sendRequest({ method, url, headers: { ...headers }, tls: {}, proxy: undefined, signal });
      limits.progress();
      const { statusCode: status = 0, headers: answered } = response;
      if (status === 200) {
        return { status, headers: answered, body: await readBody(response, answered, limits, largeBodies) };
      }
      // Without a listener, its error would crash the process.
      response.on('error', () => undefined).destroy();
      return { status, headers: answered, body: Buffer.alloc(0) };
    };
  }
}
