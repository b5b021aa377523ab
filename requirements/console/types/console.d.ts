// The names by which the console's modules call what the API answers. `openapi.d.ts` is made from the document.
import type { components } from "../openapi";

type Schemas = components["schemas"];
/** Numbers may be `Exact`, which counts as one; parameters are any JSON. */
type Loose<T, K extends keyof T> = Omit<T, K> & { [name in K]: any };

declare global {
  /** Who is there, as early.js asked before the modules were loaded. */
  var early: Promise<Response> | undefined;
  type AskOptions = {
    query?: Record<string, any>;
    body?: unknown;
    ifMatch?: string | number;
    reason?: string;
    signal?: AbortSignal;
  };
  type Answer = { data: any; etag: string; next: string; floor: string };
  /** keyId: the key that the session was made from. id: what the log and the trail call this session. */
  type Session = {
    workspaceId: string;
    workspace: string;
    name: string;
    scopes: string[];
    until: string | null;
    person?: Schemas["SignedInPerson"];
    keyId: string;
    id: string;
  };
  type Entry = Loose<Schemas["AuditEntry"], "parameters"> & { context?: any };
  type Usual = Schemas["Usual"];
  /** `ended` = it does not wait any more; what became of it has not been read yet. */
  type Approval = Loose<Omit<Schemas["Approval"], "status">, "parameters" | "context"> & {
    status: Schemas["Approval"]["status"] | "ended";
  };
  type Review = Schemas["PolicyReviewView"];
  type WholeReview = Schemas["WholePolicyReviewView"];
  type Summary = Schemas["ApprovalSummary"];
  type Agent = Schemas["AgentView"];
  type Policy = Loose<Schemas["PolicyView"], "rules">;
  type Rule = any;
  type RuleRef = Schemas["RuleRef"];
  type ApiKey = Schemas["ApiKeyView"];
  type Tool = Loose<Schemas["CatalogToolView"], "inputSchema">;
  type Access = Schemas["ToolAccess"];
  type Condition = Schemas["ToolCondition"];
  type Change = Loose<Schemas["Change"], "before" | "after">;
  type AgentHistory = Schemas["AgentHistory"];
  type Fork = Schemas["Fork"];
  type Webhook = Schemas["WebhookView"];
  type Delivery = Schemas["DeliveryView"];
  type Unsent = Schemas["UnsentView"];
  type Version = Loose<Schemas["PolicyVersionView"], "policy">;
  type Divergence = Schemas["DivergenceView"];
  type Explanation = Schemas["Explanation"];
  type PastExplanation = Schemas["PastExplanation"];
  type PolicyPart = Schemas["PolicyPart"];
  type RulePart = Schemas["RulePart"];
  type AgentQuotas = Schemas["AgentQuotas"];
  type CountedValues = Schemas["CountedValues"];
  type QuotaLevel = Schemas["QuotaLevel"];
}
