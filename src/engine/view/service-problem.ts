/** What is wrong with a Service, or with Endpoints that have no effect. */
export interface ServiceProblem {
  kind: 'Service' | 'Endpoints' | 'EndpointSlice';
  namespace: string;
  name: string;
  /** The stage that fails: its address, what it forwards to, or the rules in the kernel. */
  stage: 'address' | 'endpoints' | 'rules';
  /** Follows its name in a sentence, such as `gets no address, because …`. */
  message: string;
  /** What to do. */
  hint: string;
}

/** A problem that lasts since this time, in milliseconds since the epoch. */
export interface ServiceProblemSnapshot extends ServiceProblem {
  since: number;
}

/** Such as `Service default/web gets no address, because …`. */
export const problemSentence = ({ kind, namespace, name, message }: ServiceProblem): string =>
  `${kind} ${namespace}/${name} ${message}`;
