/** The user behind a request. */
export interface User {
  name: string;
  groups: readonly string[];
  /** Common name of the authority that signed the client certificate. Absent for other credentials. */
  issuer?: string;
}
